package boot

import (
	"go.uber.org/zap/zapcore"
)

// Common is what every program reads.
type Common struct {
	LogLevel zapcore.Level `env:"LOG_LEVEL" envDefault:"info" allowed:"debug, info, warn, error" help:"least severe log line that is written"`
	Announce bool          `env:"ANNOUNCE" envDefault:"false" help:"write the addresses listened on to stdout, as one JSON line"`
	Child    bool          `env:"CHILD" envDefault:"false" help:"end when standard input ends; for programs that loadgen starts"`
}

// Program is one of the three programs and its variables.
type Program struct {
	Name string
	Vars []Var
}

// Programs lists the three programs.
func Programs() []Program {
	configs := []struct {
		name   string
		config any
	}{{"apiserver", new(APIServer)}, {"backend", new(Backend)}, {"loadgen", new(Loadgen)}}
	programs := make([]Program, len(configs))
	for i, c := range configs {
		vars, err := Vars(c.config)
		if err != nil {
			panic(err) // a bug in a struct tag
		}
		programs[i] = Program{c.name, vars}
	}
	return programs
}
