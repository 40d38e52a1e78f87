package machine

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

const sysNode = "/sys/devices/system/node"

// readNUMA lists the memory nodes, or says why there is no list.
func readNUMA(src Source) ([]record.NUMANode, string) {
	nodes := []record.NUMANode{}
	for _, dir := range src.glob(sysNode + "/node[0-9]*") {
		id, ok := trailingInt(path.Base(dir))
		if !ok {
			continue
		}
		cpus, err := src.read(dir + "/cpulist")
		if err != nil {
			return []record.NUMANode{}, err.Error()
		}
		n := record.NUMANode{Node: id, CPUs: cpus, TotalBytes: nodeTotal(src, dir)}
		if text, err := src.read(dir + "/distance"); err == nil {
			for _, f := range strings.Fields(text) {
				d, err := strconv.Atoi(f)
				if err != nil {
					n.Distances = nil
					break
				}
				n.Distances = append(n.Distances, d)
			}
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nodes, sysNode + " lists no node (kernel without NUMA support)"
	}
	return nodes, ""
}

func nodeTotal(src Source, dir string) record.Fact[int64] {
	text, err := src.read(dir + "/meminfo")
	if err != nil {
		return record.Unknown[int64](err.Error())
	}
	for _, line := range strings.Split(text, "\n") {
		if _, rest, ok := strings.Cut(line, "MemTotal:"); ok {
			if v, err := parseKB(rest); err == nil {
				return record.Known(v, dir+"/meminfo")
			}
		}
	}
	return record.Unknown[int64](fmt.Sprintf("%s/meminfo has no MemTotal", dir))
}

// nodeOf maps each CPU to its memory node.
func nodeOf(src Source) map[int]int {
	m := map[int]int{}
	for _, dir := range src.glob(sysNode + "/node[0-9]*") {
		id, ok := trailingInt(path.Base(dir))
		text, err := src.read(dir + "/cpulist")
		if !ok || err != nil || text == "" { // a node of memory alone has no CPUs
			continue
		}
		list, err := ParseCPUList(text)
		if err != nil {
			continue
		}
		for _, c := range list {
			m[c] = id
		}
	}
	return m
}
