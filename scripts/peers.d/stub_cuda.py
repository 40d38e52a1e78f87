"""Makes stand-ins for the CUDA libraries that PyPI's PyTorch is linked with, so that its CPU
code loads without two gigabytes of libraries that a CPU benchmark never calls. Every symbol
that the wheel's libraries want of them is one function that returns 100, CUDA's "no device".

usage: stub_cuda.py TORCH_LIB_DIR   (writes the stand-ins there)
"""
import collections, os, re, subprocess, sys

lib = sys.argv[1]
cc = os.environ.get("CC", "gcc")


def readelf(flags, path):
    return subprocess.run(["readelf", "-W", *flags, path], capture_output=True, text=True, check=True).stdout


have = {f for f in os.listdir(lib) if re.search(r"\.so(\.\d+)*$", f)}  # earlier stand-ins included
files = [os.path.join(lib, f) for f in sorted(have) if not os.path.exists(os.path.join(lib, f + ".stub"))]
system = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
missing, needed_versions, defined, wanted = set(), {}, set(), set()
for f in files:
    for n in re.findall(r"NEEDED.*\[(.+)\]", readelf(["-d"], f)):
        if n not in have and f"\t{n} " not in system:
            missing.add(n)
    file = None
    for line in readelf(["-V"], f).splitlines():  # which file each needed version belongs to
        if m := re.search(r"File: (\S+)", line):
            file = m[1]
        elif (m := re.search(r"Name: (\S+)", line)) and file:
            needed_versions[m[1]] = file
    for line in readelf(["--dyn-syms"], f).splitlines():
        p = line.split()
        if len(p) < 8 or not p[0].endswith(":"):
            continue
        name, _, version = p[7].partition("@")
        version = version.strip("@")
        if p[6] != "UND":
            defined.add(name)
        elif p[4] != "WEAK" and name:
            wanted.add((name, version))
by_file = collections.defaultdict(lambda: collections.defaultdict(set))
rest = sorted(missing)[0] if missing else None
for name, version in wanted:
    file = needed_versions.get(version)
    if version and file in missing:
        by_file[file][version].add(name)
    elif not version and name not in defined and not re.match(r"_?Py", name):
        by_file[rest][""].add(name)  # unversioned: any stand-in may hold it
for n in sorted(missing):
    asm, script = [".text", "f: movl $100, %eax", " ret"], ""
    for version, names in by_file[n].items():
        for s in sorted(names):
            asm += [f".globl {s}", f".type {s},@function", f".set {s}, f"]
        if version:
            script += f"{version} {{ global: {'; '.join(sorted(names))}; }};\n"
    path = os.path.join(lib, n)
    for suffix, text in ((".s", "\n".join(asm) + "\n.section .note.GNU-stack,\"\",@progbits\n"), (".map", script)):
        with open(path + suffix, "w") as out:
            out.write(text)
    args = [cc, "-shared", "-nostdlib", f"-Wl,-soname,{n}", "-o", path, path + ".s"]
    if script:
        args.append(f"-Wl,--version-script={path}.map")
    subprocess.run(args, check=True)
    os.remove(path + ".s")
    os.remove(path + ".map")
    open(path + ".stub", "w").close()
print("stand-ins:", " ".join(sorted(missing)) or "none needed")
