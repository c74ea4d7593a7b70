// Faults of a run, marked in the figures over time, as midpath/report/faults.py does.
import { quantity } from "./stats.js";

const TIME = /^\s*\+?([\d._]+(?:[eE][+-]?\d+)?)\s*(\D*?)\s*$/;
const SECONDS = {
  s: 1,
  sec: 1,
  second: 1,
  seconds: 1,
  us: 1e-6,
  µs: 1e-6,
  μs: 1e-6,
  ms: 1e-3,
  ns: 1e-9,
  ps: 1e-12,
  min: 60,
  h: 3600,
};
const MOST_MARKS = 60,
  MOST_NAMED = 4;
const BAND = "rgba(128,138,150,.2)";

/** A time of a scenario. */
function seconds(text) {
  const [, number, unit] = TIME.exec(text);
  return Number(number.replaceAll("_", "")) * SECONDS[unit];
}

/** The faults of a scenario that happened before the run ended, in order. */
export function faultsOf(scenario, end) {
  const given = (scenario.fault ?? []).toSorted((a, b) => seconds(a.at) - seconds(b.at));
  return given
    .filter(({ kind }) => kind !== "link-up")
    .map((fault) => faultOf(fault, given, end))
    .filter(({ at }) => at < end);
}

function faultOf(fault, every, end) {
  const at = seconds(fault.at);
  if (fault.kind === "restart") return { what: `${fault.node} restarts`, at };
  const link = fault.link.join(" – ");
  if (fault.kind !== "link-down") return { what: `${link} changes to ${fault[fault.kind]}`, at };
  const isSame = (other) => other.kind === "link-up" && other.link.toSorted().join() === fault.link.toSorted().join();
  const back = [...("until" in fault ? [fault.until] : []), ...every.filter(isSame).map((other) => other.at)];
  const later = back.map(seconds).filter((t) => t > at);
  return { what: `${link} is down`, at, until: later.length ? Math.min(...later) : end };
}

function said({ what, at, until }) {
  if (until === undefined) return `${what} at ${quantity("seconds", at)}`;
  return `${what} from ${quantity("seconds", at)} to ${quantity("seconds", until)}`;
}

function shape({ at, until }) {
  const place = { x0: at, x1: at, y0: 0, y1: 1, yref: "paper", layer: "below" };
  if (until === undefined) return { ...place, type: "line", line: { width: 1.5, dash: "dot" } };
  return { ...place, type: "rect", x1: until, fillcolor: BAND, line: { width: 0 } };
}

/** The figure with its faults, if it is one over time. */
export function marked(figure, faults) {
  const states = Object.entries(figure.variants);
  if (!faults.length || !states.every(([, { layout }]) => layout.xaxis?.title?.text === "time (s)")) return figure;
  const shapes = faults.slice(0, MOST_MARKS).map(shape);
  const drawn = ([key, { data, layout }]) => [
    key,
    { data, layout: { ...layout, shapes: [...shapes, ...(layout.shapes ?? [])] } },
  ];
  const more = faults.length - MOST_NAMED;
  const named = faults.slice(0, MOST_NAMED).map(said).join("; ") + (more > 0 ? `; and ${more} more faults` : "");
  return {
    ...figure,
    variants: Object.fromEntries(states.map(drawn)),
    note: `${figure.note} Marked in grey: ${named}.`,
  };
}
