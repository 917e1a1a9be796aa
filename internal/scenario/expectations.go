package scenario

// Expectations are the texts of what a run of the plan on that engine must meet,
// in the order of the file.
func (p Plan) Expectations(engine string) []string {
	var out []string
	for _, e := range p.expectations {
		if e.engine == "" || e.engine == engine {
			out = append(out, e.Text)
		}
	}
	return out
}
