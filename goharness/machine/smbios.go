package machine

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"strings"

	"ridge/goharness/record"
)

// memoryDevice is one populated SMBIOS type 17 structure (DSP0134 §7.18).
type memoryDevice struct {
	locator, bank  string
	kind           string
	dataWidthBits  int
	configuredMTps int
}

// memoryTypes: DSP0134 table 78.
var memoryTypes = map[byte]string{
	0x18: "DDR3", 0x1a: "DDR4", 0x1b: "LPDDR", 0x1c: "LPDDR2", 0x1d: "LPDDR3", 0x1e: "LPDDR4",
	0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}

// readSMBIOS returns the raw type 17 structures, each with its strings.
func readSMBIOS(src Source) ([][]byte, error) {
	var out [][]byte
	if files := src.glob("/sys/firmware/dmi/entries/17-*/raw"); len(files) > 0 {
		for _, f := range files {
			b, err := os.ReadFile(src.path(f))
			if err != nil {
				return nil, src.explain(f, err)
			}
			out = append(out, b)
		}
		return out, nil
	}
	const table = "/sys/firmware/dmi/tables/DMI"
	b, err := os.ReadFile(src.path(table))
	if err != nil {
		return nil, src.explain(table, err)
	}
	for len(b) >= 4 {
		kind, length := b[0], int(b[1])
		if length < 4 || length > len(b) {
			return nil, fmt.Errorf("%s: structure of type %d has length %d with %d bytes left", table, kind, length, len(b))
		}
		end := length
		for end+1 < len(b) && (b[end] != 0 || b[end+1] != 0) {
			end++
		}
		end = min(end+2, len(b))
		if kind == 17 {
			out = append(out, b[:end])
		}
		if kind == 127 {
			break
		}
		b = b[end:]
	}
	return out, nil
}

// parseMemoryDevice reads one structure; ok is false for an empty slot.
func parseMemoryDevice(b []byte) (d memoryDevice, ok bool, err error) {
	if len(b) < 0x17 || b[0] != 17 || int(b[1]) > len(b) {
		return d, false, fmt.Errorf("SMBIOS type 17 structure of %d bytes is cut short", len(b))
	}
	n := int(b[1])
	word := func(at int) int {
		if at+2 > n {
			return 0
		}
		return int(binary.LittleEndian.Uint16(b[at:]))
	}
	if word(0x0c) == 0 {
		return d, false, nil
	}
	strs := strings.Split(string(b[n:]), "\x00")
	str := func(at int) string {
		if i := int(b[at]); at < n && i > 0 && i <= len(strs) {
			return strings.TrimSpace(strs[i-1])
		}
		return ""
	}
	d.dataWidthBits = word(0x0a)
	d.locator, d.bank = str(0x10), str(0x11)
	d.kind = memoryTypes[b[0x12]]
	d.configuredMTps = word(0x20)
	if d.configuredMTps == 0xffff && n >= 0x5c { // extended configured speed, SMBIOS 3.3
		d.configuredMTps = int(binary.LittleEndian.Uint32(b[0x58:]))
	}
	return d, true, nil
}

// Locators that name a channel without doubt. Each pattern's groups together are the
// channel; text in front of the match (a socket such as "P0" or "CPU1") is part of it too.
// A bare "A1" is left out: some vendors mean channel A, others socket A.
var channelPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^(.*?)(controller ?\d+)?[-_ ]?(?:channel|chan|ch)[-_ ]?([A-P]|\d+)(?:[-_ ]|$|dimm)`), // Controller0-ChannelA-DIMM0, P0 CHANNEL C
	regexp.MustCompile(`(?i)^(.*?)()dimm[-_ ]?([A-P])[-_ ]?\d*$`),                                                // DIMM_A1, P1_DIMM_B2, CPU0_DIMM_C1
}

func channelOf(text string) (string, bool) {
	for _, p := range channelPatterns {
		if m := p.FindStringSubmatch(text); m != nil {
			return strings.ToLower(strings.Join(m[1:], "/")), true
		}
	}
	return "", false
}

// channelsOf gives each device its channel. All devices must be placed by the same field
// (locator first, bank locator second); otherwise the locators are ambiguous.
func channelsOf(devices []memoryDevice) ([]string, error) {
	for _, field := range []func(memoryDevice) string{
		func(d memoryDevice) string { return d.locator },
		func(d memoryDevice) string { return d.bank },
		func(d memoryDevice) string { return d.bank + " " + d.locator },
	} {
		var keys []string
		slots := map[string]bool{}
		for _, d := range devices {
			k, ok := channelOf(field(d))
			if !ok || slots[d.bank+"\x00"+d.locator] { // two devices in one slot: socket not told apart
				break
			}
			slots[d.bank+"\x00"+d.locator] = true
			keys = append(keys, k)
		}
		if len(keys) == len(devices) {
			return keys, nil
		}
	}
	return nil, fmt.Errorf("ambiguous locators: the channel cannot be told from %q in %q", devices[0].locator, devices[0].bank)
}

// readSMBIOSMemory fills type, configured speed, channels and the theoretical bandwidth.
func readSMBIOSMemory(src Source, m *record.Memory) {
	fail := func(why string) {
		if m.Type.Value == nil {
			m.Type = record.Unknown[string](why)
		}
		if m.ConfiguredMTps.Value == nil {
			m.ConfiguredMTps = record.Unknown[float64](why)
		}
		if m.PopulatedDevices.Value == nil {
			m.PopulatedDevices = record.Unknown[int](why)
		}
		if m.Channels.Value == nil {
			m.Channels = record.Unknown[int](why)
		}
		m.TheoreticalGBps = record.Unknown[float64](why)
	}
	raw, err := readSMBIOS(src)
	if err != nil {
		fail("no SMBIOS: " + err.Error())
		return
	}
	var devices []memoryDevice
	for _, b := range raw {
		d, ok, err := parseMemoryDevice(b)
		if err != nil {
			fail(err.Error())
			return
		}
		if ok {
			devices = append(devices, d)
		}
	}
	if len(devices) == 0 {
		fail("SMBIOS lists no populated memory device (type 17)")
		return
	}
	const source = "SMBIOS type 17"
	m.PopulatedDevices = record.Known(len(devices), source)
	first := devices[0]
	if first.kind != "" {
		m.Type = record.Known(first.kind, source)
	} else {
		m.Type = record.Unknown[string]("SMBIOS type 17 gives no memory type")
	}
	for _, d := range devices {
		if d.configuredMTps != first.configuredMTps || d.dataWidthBits != first.dataWidthBits {
			fail("SMBIOS memory devices differ in configured speed or width")
			return
		}
	}
	if first.configuredMTps == 0 || first.dataWidthBits == 0 {
		fail("SMBIOS gives no configured memory speed or width (usual in a virtual machine)")
		return
	}
	m.ConfiguredMTps = record.Known(float64(first.configuredMTps), source)
	keys, err := channelsOf(devices)
	if err != nil {
		fail(err.Error())
		return
	}
	distinct := map[string]bool{}
	for _, k := range keys {
		distinct[k] = true
	}
	n := len(distinct)
	m.Channels = record.Known(n, source+", distinct channel locators")
	m.TheoreticalGBps = record.Known(float64(n)*float64(first.configuredMTps)*float64(first.dataWidthBits)/8/1000,
		fmt.Sprintf("%d channels × %d MT/s × %d bytes; %s", n, first.configuredMTps, first.dataWidthBits/8, source))
}
