package op

// Builtin is the registry of ridge's own ops: a new op adds one line.
func Builtin() *Registry {
	return NewRegistry(
		GemmSpec(),
		LinearSpec(),
		BiasAddSpec(),
		BatchNormSpec(),
	).With(ElementwiseSpecs()...).With(ReductionSpecs()...).With(NormSpecs()...)
}
