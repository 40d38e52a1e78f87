package record

// Energy of a case: what a meter counted over windows in which its program ran back to back, or
// why there is none. Joules are those of the whole device (gross), idle power included.
type Energy struct {
	Joules         float64  `json:"energy_joules,omitempty" jsonschema:"description=of all windows together; gross: idle power included"`
	Uncertainty    float64  `json:"uncertainty_joules,omitempty" jsonschema:"description=95 %: the counter's steps and updates; a sensor's averaging; half the range of the windows"`
	NetJoules      *float64 `json:"net_joules,omitempty" jsonschema:"description=above the idle baseline"`
	NetUncertainty float64  `json:"net_uncertainty_joules,omitempty"`
	WindowNS       int64    `json:"window_ns,omitempty" jsonschema:"description=of all windows together"`
	Launches       float64  `json:"launches,omitempty" jsonschema:"description=in the windows; edges lie on the meter's updates and not on launches"`
	MaxWatts       float64  `json:"power_max_watts,omitempty" jsonschema:"description=highest seen in a window: of a power sensor; else the mean over at least 20 updates of the counter"`
	LimitWatts     float64  `json:"power_limit_watts,omitempty"`
	SensorWatts    float64  `json:"power_sensor_watts,omitempty" jsonschema:"description=mean of a power sensor beside the energy counter"`
	Meter          string   `json:"meter,omitempty"`

	Windows      []EnergyWindow `json:"windows,omitempty"`
	Domains      []EnergyDomain `json:"domains,omitempty"`
	ClockMHz     *[2]float64    `json:"clock_mhz,omitempty" jsonschema:"description=at the start of the first window and the end of the last"`
	TemperatureC *[2]float64    `json:"temperature_c,omitempty" jsonschema:"description=at the start of the first window and the end of the last"`

	ClockMinMHz     float64 `json:"clock_min_mhz,omitempty" jsonschema:"description=of the readings in all windows"`
	ClockAvgMHz     float64 `json:"clock_avg_mhz,omitempty" jsonschema:"description=of the readings in all windows, each by the time that it stands for"`
	ClockMaxMHz     float64 `json:"clock_max_mhz,omitempty" jsonschema:"description=of the readings in all windows"`
	TemperatureMinC float64 `json:"temperature_min_c,omitempty" jsonschema:"description=of the readings in all windows"`
	TemperatureAvgC float64 `json:"temperature_avg_c,omitempty" jsonschema:"description=of the readings in all windows, each by the time that it stands for"`
	TemperatureMaxC float64 `json:"temperature_max_c,omitempty" jsonschema:"description=of the readings in all windows"`

	Throttled []string       `json:"throttled,omitempty" jsonschema:"description=reasons seen in the windows why the clock was held"`
	DRAMShare *Fact[float64] `json:"dram_utilization,omitempty" jsonschema:"description=share of DRAM bandwidth in use by counters (0..1)"`
	// MeasuredBytes are of one launch, beside the modelled bytes of the result.
	MeasuredBytes *Fact[float64] `json:"measured_bytes,omitempty" jsonschema:"description=bytes of one launch between DRAM and the host's memory controllers, by their counters; of all processes"`
	Warnings      []string       `json:"warnings,omitempty"`

	Unavailable string `json:"unavailable,omitempty"`
}

// EnergyWindow is one of the windows.
type EnergyWindow struct {
	Seconds     float64 `json:"seconds"`
	Joules      float64 `json:"energy_joules"`
	Uncertainty float64 `json:"uncertainty_joules"`
}

// EnergyDomain is the mean power of one of the meter's domains.
type EnergyDomain struct {
	Name    string  `json:"name"`
	Watts   float64 `json:"power_avg_watts"`
	InTotal bool    `json:"in_total" jsonschema:"description=false: a part of another domain (cores) or more than the device (psys)"`
}

// Known reports whether there are joules for a number of launches.
func (e *Energy) Known() bool {
	return e != nil && e.Unavailable == "" && e.Joules > 0 && e.WindowNS > 0 && e.Launches > 0
}

// MeanWatts over the windows.
func (e *Energy) MeanWatts() float64 { return e.Joules / (float64(e.WindowNS) / 1e9) }

// PerLaunch is the gross joules of one launch and their uncertainty.
func (e *Energy) PerLaunch() (joules, uncertainty float64) {
	return e.Joules / e.Launches, e.Uncertainty / e.Launches
}

// EnergyReport says how the energies of a run were taken and what they amount to.
type EnergyReport struct {
	Device      string            `json:"device"`
	Meter       string            `json:"meter,omitempty"`
	Unavailable string            `json:"unavailable,omitempty" jsonschema:"description=why nothing was measured"`
	LimitWatts  float64           `json:"power_limit_watts,omitempty"`
	Facts       map[string]string `json:"facts,omitempty"`
	Idle        *IdleBaseline     `json:"idle,omitempty"`
	Windows     int               `json:"windows,omitempty" jsonschema:"description=of each program"`
	WindowS     float64           `json:"window_seconds,omitempty" jsonschema:"description=least length of each"`
	Selected    int               `json:"selected" jsonschema:"description=cases chosen for windows"`
	Measured    int               `json:"measured"`
	Roofline    []EnergyRoofline  `json:"roofline,omitempty"`
}

// IdleBaseline is the device's power without a load.
type IdleBaseline struct {
	Before      float64           `json:"before_watts,omitempty"`
	After       float64           `json:"after_watts,omitempty"`
	Uncertainty float64           `json:"uncertainty_watts,omitempty" jsonschema:"description=95 % of their mean with half of their difference on top"`
	Seconds     float64           `json:"seconds" jsonschema:"description=length of each"`
	LeftOut     map[string]string `json:"left_out,omitempty" jsonschema:"description=domains that are not in the total and why"`
	Unavailable string            `json:"unavailable,omitempty" jsonschema:"description=why there is no net energy"`
}

// EnergyRoofline is the energy of a launch as pj_per_flop · FLOP + pj_per_byte · bytes + constant_watts · time, fitted
// to the run's cases of one precision, or why there is no such fit.
type EnergyRoofline struct {
	DType         DType      `json:"dtype"`
	Cases         int        `json:"cases"`
	PJPerFLOP     float64    `json:"pj_per_flop,omitempty"`
	PJPerFLOPCI95 [2]float64 `json:"pj_per_flop_ci95,omitzero"`
	PJPerByte     float64    `json:"pj_per_byte,omitempty" jsonschema:"description=of modelled traffic with DRAM"`
	PJPerByteCI95 [2]float64 `json:"pj_per_byte_ci95,omitzero"`
	ConstantWatts float64    `json:"constant_watts,omitempty" jsonschema:"description=drawn whatever the kernel does"`
	ConstantCI95  [2]float64 `json:"constant_watts_ci95,omitzero"`
	Error         float64    `json:"relative_error,omitempty" jsonschema:"description=root mean square of the relative residuals"`
	Balance       float64    `json:"balance_flops_per_byte,omitempty" jsonschema:"description=intensity at which a FLOP and its bytes cost the same energy"`
	Unavailable   string     `json:"unavailable,omitempty"`
}
