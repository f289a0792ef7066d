-- Dissector of tidegate's headers for Wireshark and tshark: put it into the personal plugin folder, or
--   tshark -X lua_script:tidegate.lua -r capture.pcapng
-- Captures of simulations use UDP port 51230; for other ports choose "Decode As... TIDEGATE".
local tidegate = Proto("tidegate", "Tidegate transport")

local transports = {[1] = "ExpressPass", [2] = "DCTCP"}
local classes = {[0] = "control", "credit", "scheduled", "unscheduled", "plain"}
local kinds = {
  [1] = {[0] = "CREDIT", "DATA", "REQUEST", "STOP", "NACK", "STOP_ACK", "ACK", "PROBE", "PROBE_ACK"},
  [2] = {"SYN", "SYN_ACK", "DATA", "ACK", "RESET"},
}

local f = {
  version = ProtoField.uint8("tidegate.version", "Version", base.DEC, nil, 0xf0),
  bounced = ProtoField.bool("tidegate.bounced", "Sent back", 8, nil, 0x02),
  trimmed = ProtoField.bool("tidegate.trimmed", "Payload cut off", 8, nil, 0x01),
  sprayed = ProtoField.bool("tidegate.sprayed", "Sprayed", 8, nil, 0x80),
  priority = ProtoField.uint8("tidegate.priority", "Priority", base.DEC, nil, 0x38),
  class = ProtoField.uint8("tidegate.class", "Class", base.DEC, classes, 0x07),
  transport = ProtoField.uint8("tidegate.transport", "Transport", base.DEC, transports),
  flags = ProtoField.uint8("tidegate.flags", "Flags", base.HEX, nil, 0xf0),
  kind = ProtoField.uint8("tidegate.kind", "Kind", base.DEC, nil, 0x0f),
  name = ProtoField.string("tidegate.name", "Packet"),
  conn = ProtoField.uint32("tidegate.conn", "Connection"),
  tag = ProtoField.uint32("tidegate.tag", "Tag", base.HEX),
  shared = ProtoField.uint32("tidegate.shared", "Shared word", base.HEX),
  sequence = ProtoField.uint32("tidegate.sequence", "Credit sequence"),
  offset = ProtoField.uint64("tidegate.offset", "Offset in the stream"),
  length = ProtoField.uint16("tidegate.length", "Payload length"),
  word = ProtoField.uint32("tidegate.word", "Head word", base.HEX),
}
tidegate.fields = f

-- What every header begins with, and the only version of it.
local ENVELOPE, VERSION = 16, 1

function tidegate.dissector(buffer, pinfo, tree)
  if buffer:reported_len() < ENVELOPE or buffer:len() < ENVELOPE then return 0 end
  if buffer(0, 1):bitfield(0, 4) ~= VERSION then return 0 end
  local transport, number = buffer(2, 1):uint(), buffer(3, 1):bitfield(4, 4)
  local name = kinds[transport] and kinds[transport][number]
  if name == nil then return 0 end
  -- A credit is the one short header: it fits a smallest frame.
  local credit = name == "CREDIT"
  if not credit and buffer:len() < ENVELOPE + 8 then return 0 end

  pinfo.cols.protocol = transports[transport]
  local branch = tree:add(tidegate, buffer(0, buffer:len()))
  for _, field in ipairs({f.version, f.bounced, f.trimmed}) do branch:add(field, buffer(0, 1)) end
  for _, field in ipairs({f.sprayed, f.priority, f.class}) do branch:add(field, buffer(1, 1)) end
  branch:add(f.transport, buffer(2, 1))
  branch:add(f.flags, buffer(3, 1))
  branch:add(f.kind, buffer(3, 1))
  branch:add(f.name, buffer(3, 1), name)
  branch:add(f.conn, buffer(4, 4))
  branch:add(f.tag, buffer(8, 4))
  branch:add(f.shared, buffer(12, 4))
  local info = name
  if credit then
    branch:add(f.sequence, buffer(12, 4))
    info = string.format("%s %u", name, buffer(12, 4):uint())
  else
    branch:add(f.word, buffer(16, 4))
    branch:add(f.word, buffer(20, 4))
    if name == "DATA" then
      -- 48 bits: the low word first, then the upper half of the second.
      local offset = UInt64.new(buffer(16, 4):uint(), buffer(20, 2):uint())
      local length = buffer(22, 2)
      branch:add(f.offset, buffer(16, 6), offset)
      branch:add(f.length, length)
      info = string.format("%s %s+%u", name, tostring(offset), length:uint())
    end
  end
  pinfo.cols.info = string.format("%s  connection %u", info, buffer(4, 4):uint())
  return buffer:len()
end

DissectorTable.get("udp.port"):add(51230, tidegate)
