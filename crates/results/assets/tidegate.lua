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
  kind = ProtoField.uint8("tidegate.kind", "Kind", base.DEC, nil, 0x0f),
  name = ProtoField.string("tidegate.name", "Packet"),
  flags = ProtoField.uint8("tidegate.flags", "Flags", base.HEX),
  transport = ProtoField.uint8("tidegate.transport", "Transport", base.DEC, transports),
  class = ProtoField.uint8("tidegate.class", "Class", base.DEC, classes),
  epoch = ProtoField.uint8("tidegate.epoch", "Epoch"),
  conn = ProtoField.uint32("tidegate.conn", "Connection"),
  sequence = ProtoField.uint32("tidegate.sequence", "Credit sequence"),
  offset = ProtoField.uint64("tidegate.offset", "Offset in the stream"),
  length = ProtoField.uint16("tidegate.length", "Payload length"),
  word = ProtoField.uint32("tidegate.word", "Head word", base.HEX),
}
tidegate.fields = f

function tidegate.dissector(buffer, pinfo, tree)
  if buffer:reported_len() < 18 or buffer:len() < 18 or buffer(0, 1):uint() > 0x0f then return 0 end
  local number = buffer(0, 1):bitfield(4, 4)
  -- A credit is the one short header: 18 bytes fit a smallest frame.
  local credit = number == 0
  if not credit and buffer:len() < 24 then return 0 end
  local transport = credit and 1 or buffer(2, 1):uint()
  local names = kinds[transport]
  if names == nil or names[number] == nil then return 0 end
  local name = names[number]

  pinfo.cols.protocol = transports[transport]
  local branch = tree:add(tidegate, buffer(0, buffer:len()))
  branch:add(f.version, buffer(0, 1))
  branch:add(f.kind, buffer(0, 1))
  branch:add(f.name, buffer(0, 1), name)
  local info
  if credit then
    branch:add(f.epoch, buffer(1, 1))
    branch:add(f.conn, buffer(2, 4))
    branch:add(f.sequence, buffer(6, 4))
    info = string.format("%s %u", name, buffer(6, 4):uint())
  else
    branch:add(f.transport, buffer(2, 1))
    local words
    if transport == 1 then
      branch:add(f.flags, buffer(1, 1))
      branch:add(f.class, buffer(3, 1), buffer(3, 1):bitfield(0, 4))
      branch:add(f.epoch, buffer(8, 1))
      words = 12
    else
      branch:add(f.flags, buffer(1, 1), buffer(1, 1):bitfield(0, 4) * 16)
      branch:add(f.class, buffer(1, 1), buffer(1, 1):bitfield(4, 4))
      branch:add(f.epoch, buffer(3, 1))
      words = 8
    end
    branch:add(f.conn, buffer(4, 4))
    for at = words, words + 8, 4 do branch:add(f.word, buffer(at, 4)) end
    info = name
    if name == "DATA" then
      -- 48 bits: the low word first, then the upper half of the second.
      local offset = UInt64.new(buffer(words, 4):uint(), buffer(words + 4, 2):uint())
      local length = buffer(words + 6, 2)
      branch:add(f.offset, buffer(words, 6), offset)
      branch:add(f.length, length)
      info = string.format("%s %s+%u", name, tostring(offset), length:uint())
    end
  end
  pinfo.cols.info = string.format("%s  connection %u", info, credit and buffer(2, 4):uint() or buffer(4, 4):uint())
  return buffer:len()
end

DissectorTable.get("udp.port"):add(51230, tidegate)
