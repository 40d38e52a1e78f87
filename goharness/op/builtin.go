package op

// Builtin is the registry of ridge's own ops: a new op adds one line.
func Builtin() *Registry {
	return NewRegistry(
		GemmSpec(),
		LinearSpec(),
		PeakSpec(),
		DispatchSpec(),
		ClockSpec(),
		Conv2dSpec(),
		AttentionSpec(),
	)
	).
		With(MemorySpecs()...).
		With(StreamSpecs()...).
		With(Blas1Specs()...).
		With(ChaseSpec(), BandwidthSpec())
		BiasAddSpec(),
		BatchNormSpec(),
	).With(ElementwiseSpecs()...)
}
