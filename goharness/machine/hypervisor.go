package machine

import (
	"fmt"
	"strings"

	"ridge/goharness/record"
)

// signatures of cpuid leaf 0x40000000 (Linux arch/x86/kernel/cpu/hypervisor.c and the
// vendors' interface specifications).
var signatures = map[string]string{
	"KVMKVMKVM": "KVM", "Linux KVM Hv": "KVM", "Microsoft Hv": "Hyper-V", "VMwareVMware": "VMware", "XenVMMXenVMM": "Xen",
	"TCGTCGTCGTCG": "QEMU (emulated)", "bhyve bhyve": "bhyve", "prl hyperv": "Parallels", "ACRNACRNACRN": "ACRN",
	"VBoxVBoxVBox": "VirtualBox", "QNXQVMBSQG": "QNX", "SRESRESRESRE": "Lockheed Martin SRE", "HVMHVMHVM": "HVM",
}

// dmiProducts are product or vendor names of virtual machines in the DMI identification.
var dmiProducts = []struct{ word, name string }{
	{"KVM", "KVM"}, {"QEMU", "QEMU"}, {"VMware", "VMware"}, {"VirtualBox", "VirtualBox"}, {"Virtual Machine", "Hyper-V"},
	{"Google Compute Engine", "KVM (Google Compute Engine)"}, {"Amazon EC2", "Amazon EC2"}, {"OpenStack", "OpenStack"}, {"Parallels", "Parallels"},
}

// readHypervisor says what runs below this system; "none" on bare metal.
func readHypervisor(src Source, id CPUID) record.Fact[string] {
	if t, err := src.read("/sys/hypervisor/type"); err == nil && t != "" {
		return record.Known(t, "/sys/hypervisor/type")
	}
	if id.Virtual {
		if name := signatures[strings.TrimSpace(id.HypervisorVendor)]; name != "" {
			return record.Known(name, "cpuid leaf 0x40000000")
		}
		if id.HypervisorVendor != "" {
			return record.Known(fmt.Sprintf("unknown (signature %q)", id.HypervisorVendor), "cpuid leaf 0x40000000")
		}
	}
	product := ""
	for _, file := range []string{"product_name", "sys_vendor", "board_vendor"} {
		t, err := src.read("/sys/class/dmi/id/" + file)
		if err != nil {
			continue
		}
		product = t
		if strings.HasSuffix(t, ".metal") { // bare-metal instances carry the cloud's vendor name
			break
		}
		for _, p := range dmiProducts {
			if strings.Contains(t, p.word) {
				return record.Known(p.name, "DMI "+file+" "+t)
			}
		}
	}
	switch {
	case id.Virtual:
		return record.Known("unknown", "cpuid hypervisor bit is set, no signature")
	case src.arch() == "amd64":
		return record.Known("none", "cpuid hypervisor bit is clear")
	case product != "":
		return record.Known("none", "DMI names "+product)
	}
	return record.Unknown[string]("this architecture has no hypervisor bit, and neither DMI nor /sys/hypervisor is readable")
}

// readContainer recognises containers by their marker files and cgroup names.
func readContainer(src Source) record.Fact[string] {
	for _, m := range []struct{ file, name string }{{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}} {
		if src.exists(m.file) {
			return record.Known(m.name, m.file)
		}
	}
	paths, err := cgroupPaths(src)
	if err != nil {
		return record.Unknown[string](err.Error())
	}
	for _, p := range paths {
		for _, w := range []struct{ word, name string }{{"kubepods", "kubernetes"}, {"docker", "docker"}, {"libpod", "podman"}, {"lxc", "lxc"}, {"containerd", "containerd"}} {
			if strings.Contains(p, w.word) {
				return record.Known(w.name, "/proc/self/cgroup")
			}
		}
	}
	return record.Known("none", "no marker file, no container name in /proc/self/cgroup")
}
