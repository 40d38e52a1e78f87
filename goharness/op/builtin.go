package op

// Builtin is the registry of ridge's own ops: a new op adds one line.
func Builtin() *Registry {
	return NewRegistry(
		GemmSpec(),
		LinearSpec(),
		SwiGLUSpec(),
		MLPSpec(),
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
		SharedSpec(),
		DispatchSpec(),
		DispatchGraphSpec(),
		DispatchPersistentSpec(),
		DispatchPrioritySpec(),
		ClockSpec(),
	).
		With(ElementwiseSpecs()...).
		With(MemorySpecs()...).
		With(CopySpecs()...).
		With(StreamSpecs()...).
		With(Blas1Specs()...).
		With(ReductionSpecs()...).
		With(NormSpecs()...).
		With(AttentionPartSpecs()...).
		With(AddNormSpecs()...)
}
