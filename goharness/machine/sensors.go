package machine

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// sensor is one temperature in °C with the name its driver gives it.
type sensor struct {
	name    string
	celsius float64
}

// temperatures reads all thermal zones and hwmon inputs (both in m°C). Readings outside
// −20…150 °C are broken sensors and left out.
func temperatures(src Source) []sensor {
	var out []sensor
	add := func(name, file string) {
		v, err := src.readInt(file)
		if c := float64(v) / 1000; err == nil && c > -20 && c < 150 && v != 0 {
			out = append(out, sensor{name, c})
		}
	}
	for _, dir := range src.glob("/sys/class/thermal/thermal_zone*") {
		name, err := src.read(dir + "/type")
		if err != nil || name == "" {
			name = path.Base(dir)
		}
		add(name, dir+"/temp")
	}
	for _, file := range src.glob("/sys/class/hwmon/hwmon*/temp*_input") {
		name, err := src.read(path.Dir(file) + "/name")
		if err != nil {
			name = path.Base(path.Dir(file))
		}
		if label, err := src.read(strings.TrimSuffix(file, "_input") + "_label"); err == nil {
			name += " " + label
		}
		add(name, file)
	}
	return out
}

// Temperature is the hottest sensor in °C; the source names it.
func Temperature(src Source) record.Fact[float64] {
	all := temperatures(src)
	if len(all) == 0 {
		return record.Unknown[float64]("no thermal zone or hwmon sensor is readable")
	}
	hot := all[0]
	for _, s := range all {
		if s.celsius > hot.celsius {
			hot = s
		}
	}
	return record.Known(hot.celsius, hot.name)
}

// userHZ is the unit of /proc/stat: USER_HZ is 100 on every Linux port Go runs on.
const userHZ = 100

// cpuTimes is the first line of /proc/stat in ticks.
type cpuTimes struct{ busy, idle, steal int64 }

func readCPUTimes(src Source) (cpuTimes, error) {
	var t cpuTimes
	text, err := src.read("/proc/stat")
	if err != nil {
		return t, err
	}
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return t, fmt.Errorf("/proc/stat begins with %q, not with the sum of all CPUs", clip(line))
	}
	v := make([]int64, 8) // user nice system idle iowait irq softirq steal
	for i := range v {
		if v[i], err = strconv.ParseInt(f[i+1], 10, 64); err != nil {
			return t, fmt.Errorf("/proc/stat: field %d of the first line is %q", i+1, clip(f[i+1]))
		}
	}
	t.busy, t.idle, t.steal = v[0]+v[1]+v[2]+v[5]+v[6]+v[7], v[3]+v[4], v[7]
	return t, nil
}

// Steal is the time since boot, in nanoseconds summed over all CPUs, during which the
// hypervisor ran somebody else although this machine wanted to run.
func Steal(src Source) record.Fact[int64] {
	t, err := readCPUTimes(src)
	if err != nil {
		return record.Unknown[int64](err.Error())
	}
	return record.Known(t.steal*(1e9/userHZ), "/proc/stat")
}

// loadAverage is the one-minute load average.
func loadAverage(src Source) (float64, error) {
	text, err := src.read("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/loadavg holds %q", clip(text))
	}
	return v, nil
}
