// What can be tried beside the pages of the four systems: two sliders each, and what is drawn of the run.

const line = (a, b, rate, delay) => `    { a = "${a}", b = "${b}", rate = "${rate} Mbps", delay = "${delay} ms" },`;
const scenario = (title, scheme, stop, links, rest) =>
  `title = "${title}"\nseed = 1\nscheme = "${scheme}"\nstop = "${stop} s"\n\n[topology]\nlinks = [\n${links.join("\n")}\n]\n\n${rest}
[measure]\nseries = true\ninterval = "${stop * 5} ms"\n`;
const flow = (from, to, more = "") => `[[flow]]\nfrom = "${from}"\nto = "${to}"\n${more}\n`;

export const SCENES = {
  inrpp: {
    title: "INRPP: backpressure walks back, hop by hop",
    about:
      "r2 feeds the slow link. When its cache reaches S_high it pushes back to r1, then r1 to r0, then r0 to the source. Shrink the cache.",
    sliders: [
      { key: "high", label: "Cache up to S_high", unit: "kB", min: 100, max: 2000, step: 100, value: 1000 },
      { key: "slow", label: "Slow link", unit: "Mbps", min: 20, max: 90, step: 5, value: 50 },
    ],
    runs: ["inrpp"],
    kind: "bytes",
    axis: "in custody",
    lines: [
      ["cache_bytes port:r2>r3", "r2"],
      ["cache_bytes port:r1>r2", "r1"],
      ["cache_bytes port:r0>r1", "r0"],
    ],
    text: ({ high, slow }) =>
      scenario(
        "INRPP: backpressure, hop by hop",
        "inrpp",
        2.4,
        [
          line("source", "r0", 100, 2),
          line("r0", "r1", 100, 2),
          line("r1", "r2", 100, 2),
          line("r2", "r3", slow, 2),
          line("r3", "sink", 100, 2),
        ],
        `[schemes.inrpp]\ncache = "${high + 200} kB"\nhigh = "${high} kB"\n\n${flow("source", "sink", 'size = "10 MB"\nstart = "0.2 s"\n')}`,
      ),
  },
  fcp: {
    title: "FCP: the price after a flow joins",
    about:
      "The link raises its price until budgets buy no more than it can carry. Other flows join at 1 s: the price rises, and all get less.",
    sliders: [
      { key: "delay", label: "Delay of the shared link", unit: "ms", min: 1, max: 60, step: 1, value: 10 },
      { key: "joins", label: "Flows that join", unit: "", min: 1, max: 6, step: 1, value: 1 },
    ],
    runs: ["fcp"],
    kind: "count",
    axis: "price, $ per Gbit",
    factor: 1e9,
    lines: [
      ["price port:r0>r1", "price of the link"],
      ["price flow:0", "as flow 0 pays it"],
    ],
    text: ({ delay, joins }) => {
      const hosts = Array.from({ length: joins + 1 }, (_, i) => `s${i}`);
      return scenario(
        "FCP: a price after a join",
        "fcp",
        3,
        [...hosts.map((host) => line(host, "r0", 1000, 1)), line("r0", "r1", 20, delay), line("r1", "d", 1000, 1)],
        hosts.map((host, i) => flow(host, "d", i ? 'start = "1 s"\n' : "")).join(""),
      );
    },
  },
  mircc: {
    title: "MIRCC: two classes",
    about:
      "Flow 0 has two paths, flow 1 has one and joins at 1 s. What flow 0 takes of the shared path is secondary: it falls when flow 1 comes.",
    sliders: [
      { key: "direct", label: "Flow 0's own path", unit: "Mbps", min: 5, max: 40, step: 1, value: 20 },
      { key: "shared", label: "The shared path", unit: "Mbps", min: 5, max: 40, step: 1, value: 15 },
    ],
    runs: ["mircc"],
    kind: "bps",
    axis: "rate",
    lines: [
      ["goodput_bps flow:0", "flow 0"],
      ["goodput_bps flow:1", "flow 1"],
      ["secondary_rate_bps flow:0", "flow 0's secondary rate"],
    ],
    text: ({ direct, shared }) =>
      scenario(
        "MIRCC: two classes",
        "mircc",
        3,
        [
          line("p0", "r0", 1000, 1),
          line("p1", "r2", 1000, 1),
          line("r0", "a", 1000, 2),
          line("a", "r1", direct, 5),
          line("r0", "r2", 1000, 2),
          line("r2", "r1", shared, 5),
          line("r1", "c0", 1000, 1),
          line("r1", "c1", 1000, 1),
        ],
        flow("p0", "c0") + flow("p1", "c1", 'start = "1 s"\n'),
      ),
  },
  rpm: {
    title: "RPM: a shorter loop",
    about:
      "CUBIC hears of a queue after the receiver did; with RPM the switch marks ACKs that pass it on their way back. Move the receiver away.",
    sliders: [
      { key: "far", label: "From the switch to the receiver", unit: "ms", min: 1, max: 80, step: 1, value: 30 },
      { key: "near", label: "From the sender to the switch", unit: "ms", min: 1, max: 40, step: 1, value: 2 },
    ],
    runs: ["cubic", "cubic+rpm"],
    kind: "bytes",
    axis: "queue",
    lines: [["queue_bytes port:r0>r1", ""]],
    text: ({ far, near }) =>
      scenario(
        "RPM: a shorter loop",
        "cubic",
        4,
        [
          line("s0", "r0", 1000, near),
          line("s1", "r0", 1000, near),
          line("r0", "r1", 20, far),
          line("r1", "d", 1000, 1),
        ],
        `[queue]\nlimit = "200 kB"\n\n${flow("s0", "d")}${flow("s1", "d", 'start = "1 s"\n')}`,
      ),
  },
};
