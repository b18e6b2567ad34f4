#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tables in the sources say stands in the man pages and completions, and every page renders without a
complaint: docs.py SOURCE KTRACECTL KTRACED. TAP."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tap import check, end

source, ktracectl, ktraced = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def text(path):
    return (source / path).read_text()


def page(name):
    """As a reader finds words: escaped dashes are dashes."""
    return text(f"man/{name}").replace("\\-", "-")


def absent(names, where):
    assert names, "nothing to look for: the sources have changed their form"
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", where)]


def options_of(program, *words):
    shown = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"--[a-z][a-z-]+", shown)))


verbs = re.findall(r"^        &verb_(\w+),$", text("client/main.c"), re.M)
keys = re.findall(r'^        \{ "([a-z-]+)",$', text("interfaces/spec-field.c"), re.M)
limits = re.findall(r'LIMIT(?:_OF_RULES)?\("([a-z-]+)"', text("daemon/policy/limit.c"))
errors = re.findall(r'KT_ERROR_PREFIX "(\w+)"', text("interfaces/error.c"))
members = [name for interface in ("Manager", "Session")
           for name in re.findall(r'<(?:method|signal) name="(\w+)"', text(f"interfaces/org.ktrace1.{interface}.xml"))]
options = sorted({option for words in [[]] + [[verb] for verb in verbs] for option in options_of(ktracectl, *words)})

check("ktracectl.1 has every verb", absent(verbs, page("ktracectl.1")))
check("ktracectl.1 has every option", absent(options, page("ktracectl.1")))
refusing = sorted(path.stem for path in (source / "client/verbs").glob("*.c") if ".at_home = " in path.read_text())
refused = page("ktracectl.1").split("\nThese verbs refuse\n")[1].split("\n.PP\n")[0]
tags = re.findall(r"^\.TP\n\.BR? (.*)$", refused, re.M)
named = sorted(word for tag in tags for word in re.findall(r"[a-z]+", tag) if word in verbs)
check("ktracectl.1 has the verbs that refuse -H, and no other", sorted(set(named) ^ set(refusing)))
check("ktraced.8 has every option", absent(options_of(ktraced), page("ktraced.8")))
check("ktraced.8 has every limit", absent(limits, page("ktraced.8")))
check("org.ktrace1.5 has every key of a session", absent(keys, page("org.ktrace1.5")))
check("org.ktrace1.5 has every error", absent(errors, page("org.ktrace1.5")))
check("org.ktrace1.5 has every method and signal", absent(members, page("org.ktrace1.5")))
rule_keys = sorted({key for name in ("read", "subject", "event", "probes")
                    for key in re.findall(r'\{ "([a-z-]+)", (?:\w+_)?read_', text(f"daemon/policy/rule-{name}.c"))})
check("ktrace-policy.5 has every key of rules", absent(rule_keys, page("ktrace-policy.5")))
described = page("ktrace-policy.5").split(".SH KEYS OF A RULE\n")[1].split("\n.SH ")[0]
tags = {key for tag in re.findall(r"^\.TP\n\.BR? (.*)$", described, re.M) for key in re.findall(r"[a-z-]+", tag)}
check("ktrace-policy.5 has no other key, and each as a tag", sorted(tags ^ (set(rule_keys) - {"rules"})))
rule_limits = re.findall(r'LIMIT_OF_RULES\("([a-z-]+)"', text("daemon/policy/limit.c"))
named = set(re.findall(r"(?<![\w-])max-[a-z-]+", described)) - {"max-linger-sec"}
check("ktrace-policy.5 has the limits of rules, and no other", sorted(named ^ set(rule_limits)))
shipped = page("ktrace-policy.5").split(".SH SHIPPED RULES\n")[1].split("\n.SH ")[0]
shipped_rules = [rule["name"] for file in sorted((source / "policy").glob("*.json"))
                 for rule in json.loads(file.read_text())["rules"]]
check("ktrace-policy.5 has the shipped rules, in their order",
      [] if re.findall(r"^\.TP\n\.B (.*)$", shipped, re.M) == shipped_rules else shipped_rules)
examples = re.findall(r'^\.EX\n(\{"rules".*?)^\.EE', page("ktrace-policy.5"), re.M | re.S)
check("every example of ktrace-policy.5 is found",
      [] if len(examples) == text("man/ktrace-policy.5").count("\n.EX\n") >= 5 else ["examples"])
for number, example in enumerate(examples):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(example)
        file.flush()
        run = subprocess.run([ktraced, f"--check-policy={file.name}"], capture_output=True, text=True)
        check(f"example {number + 1} of ktrace-policy.5 is a good file", [run.stderr] if run.returncode else [])
check("ktrace-session.5 has every key of a session", absent(keys, page("ktrace-session.5")))
trigger_keys = re.findall(r'^        \{ "([a-z-]+)",$', text("interfaces/spec-trigger.c"), re.M)
check("ktrace-session.5 has every key of a trigger", absent(trigger_keys, page("ktrace-session.5")))
set_keys = [key for name in ("set", "label")
            for key in re.findall(r'\{ "([a-z0-9-]+)", (?:set_)?read_', text(f"client/metrics/{name}-read.c"))]
check("ktrace-metrics.d.5 has every key of a set", absent(set_keys, page("ktrace-metrics.d.5")))
decoders = re.findall(r'\[DECODER_\w+\] = "(\w+)"', text("client/metrics/label-read.c"))
check("ktrace-metrics.d.5 has every decoder", absent(decoders, page("ktrace-metrics.d.5")))
shipped = page("ktrace-metrics.d.5").split(".SH SHIPPED SETS\n")[1].split("\n.SH ")[0]
sets = sorted(file.stem for file in (source / "policy" / "metrics.d").glob("*.json"))
check("ktrace-metrics.d.5 has the shipped sets, in their order",
      [] if re.findall(r"^\.TP\n\.B (.*)$", shipped, re.M) == sets else sets)
metrics_options = re.findall(r'\{ "([a-z-]+)", (?:required|no)_argument', text("client/exporter/main.c"))
check("ktrace-metrics.8 has every option", absent([f"--{name}" for name in metrics_options], page("ktrace-metrics.8")))
settings = re.findall(r'\{ "([a-z-]+)", settings_read_', text("client/metrics/settings.c"))
check("ktrace-metrics.8 has every setting", absent(settings, page("ktrace-metrics.8")))
own = [name for path in ("metrics/self", "exporter/outputs")
       for name in re.findall(r'"(ktrace_metrics_\w+)"', text(f"client/{path}.c"))]
check("ktrace-metrics.8 has every metric of the service", absent(own, page("ktrace-metrics.8")))
cases = "".join(path.read_text() for path in sorted((source / "tests/e2e").glob("*.sh")))
for name in ("ktrace-session.5", "ktrace-cookbook.7"):
    sections = re.split(r"^\.S[HS] ", page(name), flags=re.M)[1:]
    headings = {section.split("\n")[0].strip('"') for section in sections if "\n.EX\n" in section} - {"DESCRIPTION"}
    run = {heading for _, heading in re.findall(rf"(?:section|example) {re.escape(name)} (['\"])(.*?)\1", cases)}
    check(f"every section of {name} with examples is run", sorted(headings ^ run) if headings else ["none found"])
for shell in ("bash/ktracectl", "fish/ktracectl.fish", "zsh/_ktracectl"):
    completion = text(f"units/completion/{shell}")
    check(f"completion of {shell} has every verb", absent(verbs, completion))
    check(f"completion of {shell} has every option", absent([o for o in options if o != "--help"], completion))
def chunks(png):
    """The types of the chunks of a PNG file."""
    place = 8
    while place < len(png):
        yield png[place + 4:place + 8].decode("ascii", "replace")
        place += 12 + int.from_bytes(png[place:place + 4], "big")


def private_parts(path):
    """Where a picture may say on which machine it was made: paths, prompts, texts beside the pixels."""
    data = path.read_bytes()
    if path.suffix == ".png":
        return sorted(set(chunks(data)) - {"IHDR", "PLTE", "IDAT", "IEND", "sBIT", "sRGB"})
    shown = re.sub(r' xmlns="[^"]*"', "", data.decode())
    return re.findall(r"(?<![<\w./])/(?!bin/sh\b)\w[^<]*|\w+@\w+", shown)


pictures = [source / name for name in re.findall(r"^!\[[^]]+\]\((.*?)\)$", text("README.md"), re.M)]
check("README.md has two pictures of at most 60 KB", [str(path) for path in pictures if not path.is_file()
      or path.stat().st_size > 60000] if len(pictures) == 2 else [f"{len(pictures)} pictures"])
check("the pictures name nothing of the machine that made them",
      [f"{path.name}: {part}" for path in pictures if path.is_file() for part in private_parts(path)])
version = re.search(r"version : '(.*?)'", text("meson.build"))[1]
newest = {"debian/changelog": r"^ktraced \((.*?)\)", "NEWS": r"^ktraced (\S+)$",
          "units/org.ktrace1.metainfo.xml": r'<release version="(.*?)"', "man/ktraced.8": r'"ktraced (\S+)"'}
check("changelog, NEWS, metainfo and manual begin with the version of meson.build",
      [path for path, pattern in newest.items() if re.search(pattern, text(path), re.M)[1] != version])
ids = re.findall(r'AUDIT_ID_\w+ +"([0-9a-f]{32})"', text("daemon/work/audit.h"))
entries = re.findall(r"^-- ([0-9a-f]{32})$", text("units/ktrace.catalog"), re.M)
check("the catalog has every record's id", absent(ids, "\n".join(entries)))
check("the catalog has no other id, and none twice",
      sorted(set(entries) - set(ids)) + [entry for entry in set(entries) if entries.count(entry) > 1])
with tempfile.TemporaryDirectory() as root:
    directory = pathlib.Path(root, "usr/lib/systemd/catalog")
    directory.mkdir(parents=True)
    shutil.copy(source / "units/ktrace.catalog", directory)
    run = subprocess.run(["journalctl", f"--root={root}", "--update-catalog"], capture_output=True, text=True)
    listed = subprocess.run(["journalctl", f"--root={root}", "--list-catalog"], capture_output=True, text=True)
    check("journalctl reads the catalog", run.stderr.splitlines() + absent(ids, listed.stdout))


def joined(path):
    """Words without a blank between them: the macros with two fonts print their arguments side by side."""
    for line in path.read_text().splitlines():
        words = re.match(r"\.(?:BR|RB|IR|RI|BI|IB) (.*)", line)
        arguments = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', words[1])] if words else []
        for first, second in zip(arguments, arguments[1:]):
            if re.match(r"\\-\\-?[a-z].*[A-Za-z]$", first) and re.match(r"[A-Za-z]", second):
                yield line


# tbl before troff, and 80 columns: a wider table is a warning.
for path in sorted((source / "man").glob("*.[1-8]")):
    run = subprocess.run(["groff", "-t", "-man", "-Tutf8", "-ww", "-z", "-rLL=78n", path],
                         capture_output=True, text=True)
    check(f"{path.name} renders", (run.stdout + run.stderr).splitlines())
    if shutil.which("man"):  # as lintian calls it; the first line of the page must ask for tbl (groff 1.23 warns)
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"}
        run = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        check(f"man shows {path.name}", run.stderr.splitlines())
    check(f"{path.name} separates its words", list(joined(path)))
end()
