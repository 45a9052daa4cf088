"""Verifies the vectors on standard input with receiver.py in the working directory. Prints each one's reason, or an empty text."""

import json
import sys

sys.path.insert(0, ".")
sys.dont_write_bytecode = True
import receiver


def reason(vector):
    try:
        receiver.verify(vector["secrets"], vector["headers"], vector["body"].encode(), vector["now"])
    except receiver.Refused as refused:
        return str(refused)
    return ""


json.dump({vector["name"]: reason(vector) for vector in json.load(sys.stdin)["vectors"]}, sys.stdout)
