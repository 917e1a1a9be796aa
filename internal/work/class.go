package work

import "fmt"

// Criticality orders classes by how much their loss hurts, in the four levels of
// Google's "Site Reliability Engineering", chapter 21.
type Criticality uint8

// The criticalities, most important first.
const (
	CriticalPlus Criticality = iota
	Critical
	SheddablePlus
	Sheddable
	NumCriticalities = iota
)

var criticalityNames = [NumCriticalities]string{"critical_plus", "critical", "sheddable_plus", "sheddable"}

// String returns the text form, which is also the header value.
func (c Criticality) String() string { return criticalityNames[c] }

// MarshalText returns the text form.
func (c Criticality) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts exactly the four text forms.
func (c *Criticality) UnmarshalText(text []byte) error {
	for i, name := range criticalityNames {
		if name == string(text) {
			*c = Criticality(i)
			return nil
		}
	}
	return fmt.Errorf("unknown criticality %q: allowed are critical_plus, critical, sheddable_plus, sheddable", text)
}

// Class is a kind of request: who is served first and which compartment it uses.
type Class struct {
	Name        string      `json:"name" yaml:"name"`
	Criticality Criticality `json:"criticality" yaml:"criticality"`
	// Compartment names the bulkhead that the class runs in; empty shares one with all others.
	Compartment string `json:"compartment,omitempty" yaml:"compartment"`
}
