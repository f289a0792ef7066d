-- Dissector of tidegate's headers for Wireshark and tshark: put it into the personal plugin folder, or
--   tshark -X lua_script:tidegate.lua -r capture.pcapng
-- Captures of simulations use UDP port 51230; for other ports choose "Decode As... TIDEGATE".
local tidegate = Proto("tidegate", "Tidegate transport")

local classes = {[0] = "control", "credit", "scheduled", "unscheduled", "plain", "link"}
-- Every transport with its kinds of packet and their fields, as they are declared. A field is its name
-- and the bits that it has: 0 to 95 in the head, 96 to 99 among the flags of the kind.
--DECLARED--

local f = {
  version = ProtoField.uint8("tidegate.version", "Version", base.DEC, nil, 0xf0),
  lane = ProtoField.uint8("tidegate.lane", "Lane", base.DEC, nil, 0x0c),
  bounced = ProtoField.bool("tidegate.bounced", "Sent back", 8, nil, 0x02),
  trimmed = ProtoField.bool("tidegate.trimmed", "Payload cut off", 8, nil, 0x01),
  path = ProtoField.bool("tidegate.path", "The shared word is a path", 8, nil, 0x80),
  priority = ProtoField.uint8("tidegate.priority", "Priority", base.DEC, nil, 0x38),
  class = ProtoField.uint8("tidegate.class", "Class", base.DEC, classes, 0x07),
  transport = ProtoField.uint8("tidegate.transport", "Transport", base.DEC, names),
  flags = ProtoField.uint8("tidegate.flags", "Flags", base.HEX, nil, 0xf0),
  kind = ProtoField.uint8("tidegate.kind", "Kind", base.DEC, nil, 0x0f),
  name = ProtoField.string("tidegate.name", "Packet"),
  conn = ProtoField.uint32("tidegate.conn", "Connection"),
  tag = ProtoField.uint32("tidegate.tag", "Tag", base.HEX),
  shared = ProtoField.uint32("tidegate.shared", "Shared word", base.HEX),
}
for _, transport in pairs(transports) do
  for _, kind in pairs(transport.kinds) do
    for _, field in ipairs(kind.fields) do
      -- One filter for all transports, like tidegate.offset, and one for this one, like tidegate.ndp.offset.
      local name, own = "tidegate." .. field[1], "tidegate." .. transport.key .. "." .. field[1]
      f[name] = f[name] or ProtoField.uint64(name, field[1])
      f[own] = f[own] or ProtoField.uint64(own, transport.name .. ": " .. field[1])
    end
  end
end
tidegate.fields = f

-- What every header begins with, and the only version of it.
local ENVELOPE, VERSION = 16, 1

-- Bits from..to of the hundred, and the bytes that they are shown with. Bits 0 to 47 are the first word
-- behind the envelope and, above it, the upper half of the second; 48 to 95 the lower half of that
-- and the shared word. In frames of a link's own the three words follow each other.
local function read(buffer, form, from, to)
  if from >= 96 then
    return UInt64.new(buffer(3, 1):bitfield(from - 96, to - from)), buffer(3, 1)
  end
  local front, back = UInt64.new(0), UInt64.new(buffer(12, 4):uint())
  if form ~= "short" then
    if form == "words" then
      front = UInt64.new(buffer(18, 4):uint(), buffer(16, 2):uint())
    else
      front = UInt64.new(buffer(16, 4):uint(), buffer(20, 2):uint())
    end
    back = UInt64.new(buffer(12, 4):uint(), buffer(22, 2):uint())
  end
  local value = UInt64.new(0)
  if to <= 48 then
    value = front:rshift(48 - to)
  elseif from >= 48 then
    value = back:rshift(96 - to)
  else
    value = front:lshift(to - 48):bor(back:rshift(96 - to))
  end
  if to - from < 64 then
    value = value:band(UInt64.new(1):lshift(to - from) - UInt64.new(1))
  end
  if from >= 64 then return value, buffer(12, 4) end
  return value, buffer(16, math.min(8, buffer:len() - 16))
end

function tidegate.dissector(buffer, pinfo, tree)
  if buffer:reported_len() < ENVELOPE or buffer:len() < ENVELOPE then return 0 end
  if buffer(0, 1):bitfield(0, 4) ~= VERSION then return 0 end
  local transport, number = transports[buffer(2, 1):uint()], buffer(3, 1):bitfield(4, 4)
  local kind = transport and transport.kinds[number]
  if kind == nil then return 0 end
  if kind.form ~= "short" and buffer:len() < ENVELOPE + 8 then return 0 end

  pinfo.cols.protocol = transport.name
  local branch = tree:add(tidegate, buffer(0, buffer:len()))
  for _, field in ipairs({f.version, f.lane, f.bounced, f.trimmed}) do branch:add(field, buffer(0, 1)) end
  for _, field in ipairs({f.path, f.priority, f.class}) do branch:add(field, buffer(1, 1)) end
  branch:add(f.transport, buffer(2, 1))
  branch:add(f.flags, buffer(3, 1))
  branch:add(f.kind, buffer(3, 1))
  branch:add(f.name, buffer(3, 1), kind.name)
  branch:add(f.conn, buffer(4, 4))
  branch:add(f.tag, buffer(8, 4))
  branch:add(f.shared, buffer(12, 4))
  local info = {kind.name}
  for _, field in ipairs(kind.fields) do
    local value, range = read(buffer, kind.form, field[2], field[3])
    branch:add(f["tidegate." .. field[1]], range, value)
    -- It says the same again, for filters alone.
    local own = branch:add(f["tidegate." .. transport.key .. "." .. field[1]], range, value)
    if own.set_hidden then own:set_hidden() end
    table.insert(info, field[1] .. " " .. tostring(value))
  end
  table.insert(info, "connection " .. buffer(4, 4):uint())
  pinfo.cols.info = table.concat(info, "  ")
  return buffer:len()
end

DissectorTable.get("udp.port"):add(51230, tidegate)
