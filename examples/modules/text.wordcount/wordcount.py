"""A command module: reads one JSON value, prints one JSON value."""
import json
import sys

text = json.load(sys.stdin)["text"]
json.dump({"lines": len(text.splitlines()), "words": len(text.split()), "characters": len(text)},
          sys.stdout)
