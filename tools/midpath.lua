-- Wireshark's view of Midpath's packets: the shim of scheme headers between IP and transport (IP protocol 253), and packets by name (254).
--
--   tshark -X lua_script:tools/midpath.lua -r capture.pcapng -V
--
-- docs/wire.md has the bytes.

local shim = Proto("midpath", "Midpath scheme headers")
local f = shim.fields

f.next = ProtoField.uint8("midpath.next", "Next protocol", base.DEC)
f.words = ProtoField.uint8("midpath.words", "Length in words", base.DEC)
f.tag = ProtoField.uint8("midpath.tag", "Tag", base.DEC)
f.length = ProtoField.uint8("midpath.length", "Length of the body", base.DEC)
f.body = ProtoField.bytes("midpath.body", "Body")

-- Each header: its name, and for each of its fields: where, how long, what it is.
local headers = {}

local function header(tag, name, list)
    headers[tag] = { name = name, fields = list }
end

-- A tag that several transports have: each with its own length.
local function variant(tag, length, name, list)
    headers[tag] = headers[tag] or {}
    headers[tag][length] = { name = name, fields = list }
end

local function known(tag, length)
    local found = headers[tag]
    return found and (found[length] or found.name and found)
end

local function field(kind, abbreviation, text, ...)
    local made = ProtoField[kind]("midpath." .. abbreviation, text, ...)
    f[abbreviation] = made
    return made
end

header(1, "RCP", {
    { 0, 4, field("float", "rcp.rate", "Rate offered, bit/s") },
    { 4, 4, field("float", "rcp.echo", "Rate told, bit/s") },
    { 8, 4, field("float", "rcp.rtt", "Round trip, s") },
})
header(2, "XCP", {
    { 0, 4, field("float", "xcp.rtt", "Round trip, s") },
    { 4, 4, field("float", "xcp.throughput", "Throughput, byte/s") },
    { 8, 4, field("float", "xcp.delta", "Change asked for, byte/s") },
    { 12, 4, field("float", "xcp.echo", "Change told, byte/s") },
})
header(3, "FCP", {
    { 0, 4, field("float", "fcp.rtt", "Age of the price, s") },
    { 4, 4, field("float", "fcp.price", "Price, $/byte") },
    { 8, 4, field("float", "fcp.preload", "Preload") },
    { 12, 4, field("float", "fcp.balance", "Balance, $/byte") },
    { 16, 4, field("float", "fcp.charged", "Charged, $/byte") },
    { 20, 4, field("float", "fcp.exchange", "Exchange rate") },
    { 24, 4, field("uint32", "fcp.nonce", "Nonce", base.DEC) },
    { 28, 2, field("uint16", "fcp.tenant", "Tenant", base.DEC) },
    { 30, 1, field("uint8", "fcp.class", "Class", base.DEC) },
    { 31, 1, field("uint8", "fcp.flags", "Flags (1: echo, 2: refused)", base.HEX) },
    { 32, 4, field("uint32", "fcp.tree", "Multicast tree", base.DEC) },
})
header(4, "INRPP", {
    { 0, 1, field("uint8", "inrpp.flags", "Flags", base.HEX) },
    { 1, 1, field("uint8", "inrpp.releases", "Packets that the ACK stands for", base.DEC) },
    { 2, 4, field("uint32", "inrpp.nonce1", "Nonce", base.HEX) },
    { 6, 4, field("uint32", "inrpp.nonce2", "Nonce", base.HEX) },
    { 10, 4, field("uint32", "inrpp.nonce3", "Nonce", base.HEX) },
    { 14, 4, field("uint32", "inrpp.via", "Original next hop", base.DEC) },
})
header(5, "INRPP control", {
    { 0, 1, field("uint8", "inrpp.kind", "Kind", base.DEC, { [1] = "Probe", [2] = "Feedback" }) },
    { 1, 1, field("uint8", "inrpp.flag", "Hops left, or Push", base.DEC) },
    { 2, 2, field("uint16", "inrpp.port", "Port", base.DEC) },
    { 4, 4, field("uint32", "inrpp.origin", "Origin", base.DEC) },
    { 8, 4, field("uint32", "inrpp.target", "Target", base.DEC) },
    { 12, 8, field("uint64", "inrpp.number", "Number", base.DEC) },
    { 20, 8, field("uint64", "inrpp.mac", "MAC", base.HEX) },
    { 28, 8, field("double", "inrpp.up", "Spare capacity, byte/s") },
    { 36, 8, field("double", "inrpp.down", "Share to give back") },
})

header(6, "MIRCC Interest", {
    { 0, 1, field("uint8", "mircc.flags", "Flags (1: secondary, 2: hinted)", base.HEX) },
    { 2, 2, field("uint16", "mircc.expected", "Size of the Data asked for", base.DEC) },
    { 4, 4, field("uint32", "mircc.rtt", "Round trip, us", base.DEC) },
    { 8, 8, field("uint64", "mircc.hint", "Hint", base.HEX) },
})
header(7, "MIRCC", {
    { 0, 8, field("uint64", "mircc.primary", "Primary rate, bit/s", base.DEC) },
    { 8, 8, field("uint64", "mircc.secondary", "Secondary rate, bit/s", base.DEC) },
    { 16, 8, field("uint64", "mircc.path", "Path", base.HEX) },
})

local readings = { { 0, 1, field("uint8", "hpcc.readings", "Readings (128: on its way back)", base.DEC) } }
for i = 0, 4 do
    local name, at = "hpcc.port" .. i, 1 + 16 * i
    table.insert(readings, { at, 4, field("float", name .. ".rate", "Port " .. i .. ": rate, bit/s") })
    table.insert(readings, { at + 4, 4, field("uint32", name .. ".queue", "Port " .. i .. ": waiting, B", base.DEC) })
    table.insert(readings, { at + 8, 4, field("uint32", name .. ".sent", "Port " .. i .. ": sent, B", base.DEC) })
    table.insert(readings, { at + 12, 4, field("uint32", name .. ".time", "Port " .. i .. ": time, ns", base.DEC) })
end
header(8, "HPCC", readings)
header(10, "Bolt", {
    { 0, 1, field("uint8", "bolt.marks", "Marks (1: first, 2: last, 4: may raise, 8: told, 16: returns)", base.HEX) },
    { 1, 4, field("uint32", "bolt.sent", "Sent, ns", base.DEC) },
})
header(11, "Bolt notice", {
    { 0, 4, field("uint32", "bolt.notice.queue", "Waiting, B", base.DEC) },
    { 4, 4, field("float", "bolt.notice.rate", "Rate, bit/s") },
    { 8, 4, field("uint32", "bolt.notice.sent", "Packet sent, ns", base.DEC) },
})
variant(12, 30, "UET", {
    { 0, 2, field("uint16", "uec.entropy", "Entropy", base.DEC) },
    { 2, 1, field("uint8", "uec.message", "Message (0: data, 1: RTS, 2: ACK, 3: NACK, 4: credit, 5: over)", base.DEC) },
    { 3, 1, field("uint8", "uec.says", "Flags (1: answer, 2: again, 4: last, 8: CE, 16: last hop, 32: of RTS, 64: pull)", base.HEX) },
    { 4, 4, field("uint32", "uec.psn", "PSN", base.DEC) },
    { 8, 4, field("uint32", "uec.cumulative", "Cumulative PSN", base.DEC) },
    { 12, 4, field("uint32", "uec.base", "Base", base.DEC) },
    { 16, 8, field("uint64", "uec.bitmap", "Bitmap or offset", base.HEX) },
    { 24, 4, field("uint32", "uec.received", "Bytes received", base.DEC) },
    { 28, 2, field("uint16", "uec.ooo", "Out of order", base.DEC) },
})
variant(12, 13, "Falcon", {
    { 0, 2, field("uint16", "falcon.entropy", "Entropy", base.DEC) },
    { 2, 4, field("uint32", "falcon.sent", "T1, ns", base.DEC) },
    { 6, 4, field("uint32", "falcon.waited", "T3 - T2, ns", base.DEC) },
    { 10, 1, field("uint8", "falcon.level", "Level of the receiver's buffer (0 to 31)", base.DEC) },
    { 11, 1, field("uint8", "falcon.hops", "Hops forward", base.DEC) },
    { 12, 1, field("uint8", "falcon.returns", "On an ACK", base.DEC) },
})
header(13, "BFC", {
    { 0, 1, field("uint8", "bfc.queue", "Queue at the last port (255: none)", base.DEC) },
    { 1, 1, field("uint8", "bfc.first", "First packet of its flow", base.DEC) },
})
header(14, "BFC pause", {
    { 0, 8, field("uint64", "bfc.paused.high", "Paused, queues 64 to 127", base.HEX) },
    { 8, 8, field("uint64", "bfc.paused.low", "Paused, queues 0 to 63", base.HEX) },
})

-- The parts that follow what every INRPP header has, by the bits of its flags.
local far_slow = field("uint32", "inrpp.far_slow", "Slow-down, on data", base.HEX)
local far_cancel = field("uint32", "inrpp.far_cancel", "Cancel, on data", base.HEX)
local slow = field("uint32", "inrpp.slow", "Slow-down", base.HEX)
local release = field("uint16", "inrpp.release", "Packets released", base.DEC)
local cancel = field("uint32", "inrpp.cancel", "Cancel", base.HEX)
local signed = field("uint64", "inrpp.notification", "Number of the notification", base.DEC)
local begin = field("uint32", "inrpp.begin", "Bytes to begin with", base.DEC)
local signature = field("uint64", "inrpp.signature", "MAC of the notification", base.HEX)

local function inrpp_parts(tvb, tree)
    local flags, at = tvb(0, 1):uint(), 18
    local function part(bit, list)
        if math.floor(flags / bit) % 2 == 0 then return end
        for _, one in ipairs(list) do
            if at + one[1] > tvb:len() then return end
            tree:add(one[2], tvb(at, one[1]))
            at = at + one[1]
        end
    end
    part(8, { { 4, far_slow }, { 4, far_cancel } })
    part(16, { { 4, slow }, { 2, release }, { 4, cancel } })
    part(32, { { 8, signed }, { 8, signature } })
    part(64, { { 4, begin } })
end

local broken = ProtoExpert.new("midpath.broken", "Malformed scheme headers", expert.group.MALFORMED, expert.severity.ERROR)
shim.experts = { broken }

local function body(tvb, tag, tree)
    local found = known(tag, tvb:len())
    if not found then
        tree:add(f.body, tvb())
        return
    end
    for _, one in ipairs(found.fields) do
        if one[1] + one[2] <= tvb:len() then tree:add(one[3], tvb(one[1], one[2])) end
    end
    if tag == 4 and tvb:len() >= 18 then inrpp_parts(tvb, tree) end
end

-- What follows the shim. Captures have headers only; payloads are zeros, and with them lengths and checksums come out right.
local function rest(tvb, from)
    if tvb:len() == tvb:reported_len() then return tvb(from):tvb() end
    local bytes = tvb(from):bytes()
    bytes:set_size(tvb:reported_len() - from)
    return bytes:tvb("Without the shim")
end

function shim.dissector(tvb, pinfo, tree)
    local length = 4 * tvb(1, 1):uint()
    local top = tree:add(shim, tvb(0, math.min(length, tvb:len())))
    top:add(f.next, tvb(0, 1))
    top:add(f.words, tvb(1, 1))
    if length < 8 or length > tvb:len() or tvb(2, 2):uint() ~= 0 then
        top:add_proto_expert_info(broken)
        return
    end
    local at, names = 4, {}
    while at < length and tvb(at, 1):uint() ~= 0 do
        local tag = tvb(at, 1):uint()
        local len = at + 1 < length and tvb(at + 1, 1):uint() or 255
        if at + 2 + len > length then
            top:add_proto_expert_info(broken)
            return
        end
        local found = known(tag, len)
        local name = found and found.name or ("tag " .. tag)
        local branch = top:add(tvb(at, 2 + len), name)
        branch:add(f.tag, tvb(at, 1))
        branch:add(f.length, tvb(at + 1, 1))
        if len > 0 then body(tvb(at + 2, len):tvb(), tag, branch) end
        names[#names + 1] = name
        at = at + 2 + len
    end
    if at == 4 or length - at > 3 then top:add_proto_expert_info(broken) end
    top:append_text(": " .. table.concat(names, ", "))
    local next = tvb(0, 1):uint()
    if next == 59 then
        pinfo.cols.protocol = "MIDPATH"
        pinfo.cols.info = table.concat(names, ", ")
    elseif tvb:reported_len() > length then
        local dissector = DissectorTable.get("ip.proto"):get_dissector(next)
        if dissector then dissector:call(rest(tvb, length), pinfo, tree) end
    end
end

local named = Proto("midpath_icn", "Midpath packet by name")
local kinds = { [2] = "Interest", [3] = "Data", [4] = "Nack" }
named.fields.kind = ProtoField.uint8("midpath_icn.kind", "Kind", base.DEC, kinds)
named.fields.segment = ProtoField.uint32("midpath_icn.segment", "Segment", base.DEC)
named.fields.name = ProtoField.uint32("midpath_icn.name", "Name", base.DEC)
named.fields.nonce = ProtoField.uint32("midpath_icn.nonce", "Nonce", base.HEX)
named.fields.consumer = ProtoField.uint32("midpath_icn.consumer", "Number of the consumer", base.DEC)

function named.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "MIDPATH"
    local top = tree:add(named, tvb(0, 20))
    top:add(named.fields.kind, tvb(0, 1))
    top:add(named.fields.segment, tvb(4, 4))
    top:add(named.fields.name, tvb(8, 4))
    top:add(named.fields.nonce, tvb(12, 4))
    top:add(named.fields.consumer, tvb(16, 4))
    pinfo.cols.info = (kinds[tvb(0, 1):uint()] or "?") .. " " .. tvb(8, 4):uint() .. "/" .. tvb(4, 4):uint()
end

DissectorTable.get("ip.proto"):add(253, shim)
DissectorTable.get("ip.proto"):add(254, named)

-- What a capture beside a trace says in a packet's comment: its number in the trace, and why it was dropped.
local traced = Proto("midpath_trace", "Midpath trace")
traced.fields.packet = ProtoField.uint32("midpath_trace.packet", "Packet", base.DEC)
traced.fields.dropped = ProtoField.string("midpath_trace.dropped", "Dropped")
local comment = Field.new("frame.comment")

function traced.dissector(tvb, pinfo, tree)
    local found = comment()
    if not found then return end
    local text = tostring(found.value)
    local packet, why = text:match("^packet (%d+)"), text:match("dropped: (.*)$")
    if not packet and not why then return end
    local top = tree:add(traced)
    if packet then top:add(traced.fields.packet, tonumber(packet)) end
    if why then
        top:add(traced.fields.dropped, why)
        pinfo.cols.info:append(" [dropped: " .. why .. "]")
    end
end

register_postdissector(traced)
