package op

// Builtin is the registry of ridge's own ops: a new op adds one line.
func Builtin() *Registry {
	return NewRegistry(
		GemmSpec(),
		LinearSpec(),
		Conv2dSpec(),
		AttentionSpec(),
		BiasAddSpec(),
		BatchNormSpec(),
		RequantizeSpec(),
		GemvSpec(),
		ArgmaxSpec(),
		ChaseSpec(),
		BandwidthSpec(),
		LayoutSpec(),
		PeakSpec(),
		DispatchSpec(),
		ClockSpec(),
	).
		With(ElementwiseSpecs()...).
		With(MemorySpecs()...).
		With(StreamSpecs()...).
		With(Blas1Specs()...).
		With(ReductionSpecs()...).
		With(NormSpecs()...).
		With(AttentionPartSpecs()...).
		With(AddNormSpecs()...)
}
