"""Packs and unpacks TLP headers with cocotbext-pcie, as an oracle for ours.

Reads one JSON object a line and answers each with one line:
  {"pack": {fields}}      -> {"header": "hex"}
  {"unpack": "hex"}       -> {fields}
  {"read": "hex", "completions": ["hex", ...], "rcb": n} -> {"wrong": [text, ...]}

Only the class Tlp is used, and it needs no simulator. The package's own __init__ would import
cocotb, so an empty one stands in for it.
"""

import importlib.util
import json
import sys
import types

spec = importlib.util.find_spec("cocotbext.pcie")
core = types.ModuleType("cocotbext.pcie.core")
core.__path__ = [f"{folder}/core" for folder in spec.submodule_search_locations]
sys.modules[core.__name__] = core

from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpType  # noqa: E402
from cocotbext.pcie.core.utils import PcieId  # noqa: E402

TYPES = {
    "read": (TlpType.MEM_READ, TlpType.MEM_READ_64),
    "write": (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64),
}
MAX_PAYLOAD = 512


def pack(f):
    tlp = Tlp()
    tlp.tag = f["tag"]
    tlp.requester_id = PcieId.from_int(f["requester"])
    if f["kind"] == "completion":
        tlp.fmt_type = TlpType.CPL_DATA if f["len"] else TlpType.CPL
        tlp.status = CplStatus(f["status"])
        tlp.byte_count = f["left"]
        tlp.lower_address = f["addr"] & 0x7F
        if f["len"]:
            pad = f["addr"] % 4
            tlp.set_data(bytes(-(-(pad + f["len"]) // 4) * 4))
    else:
        tlp.fmt_type = TYPES[f["kind"]][f["addr"] >> 32 != 0]
        tlp.set_addr_be(f["addr"], f["len"])
        if f["kind"] == "write":
            tlp.set_data(bytes(4 * tlp.length))
    assert tlp.check(), tlp
    return {"header": tlp.pack_header().hex()}


def unpack(header):
    tlp = Tlp.unpack_header(bytes.fromhex(header))
    f = {"tag": tlp.tag, "requester": int(tlp.requester_id)}
    if tlp.fmt_type in (TlpType.CPL, TlpType.CPL_DATA):
        f.update(kind="completion", status=int(tlp.status), left=tlp.byte_count)
        f.update(dws=tlp.length, lower=tlp.lower_address)
    else:
        kind = [k for k, v in TYPES.items() if tlp.fmt_type in v][0]
        addr = tlp.address + tlp.get_first_be_offset()
        f.update(kind=kind, addr=addr, len=tlp.get_be_byte_count())
    return f


def completions(line):
    """Whether a read's completions, in order, are what a requester may expect."""
    read = Tlp.unpack_header(bytes.fromhex(line["read"]))
    addr = read.address + read.get_first_be_offset()
    left = read.get_be_byte_count()
    wrong = []

    def want(name, got, wanted):
        if got != wanted:
            wrong.append(f"{name} is {got}, wanted {wanted}, {left} B before the end")

    for header in line["completions"]:
        tlp = Tlp.unpack_header(bytes.fromhex(header))
        want("type", tlp.fmt_type, TlpType.CPL_DATA)
        want("status", tlp.status, CplStatus.SC)
        want("tag", tlp.tag, read.tag)
        want("requester", tlp.requester_id, read.requester_id)
        want("byte count", tlp.byte_count, left)
        want("lower address", tlp.lower_address, addr & 0x7F)
        carried = min(tlp.length * 4 - addr % 4, left)
        if carried > MAX_PAYLOAD:
            wrong.append(f"{carried} B in one completion")
        addr += carried
        left -= carried
        if left and addr % line["rcb"]:
            wrong.append(f"a completion ends at {addr:x}, off the boundary")
    want("bytes left", left, 0)
    return {"wrong": wrong}


for text in sys.stdin:
    request = json.loads(text)
    if "pack" in request:
        answer = pack(request["pack"])
    elif "unpack" in request:
        answer = unpack(request["unpack"])
    else:
        answer = completions(request)
    print(json.dumps(answer))
