package boot

import (
	"slices"

	"shedload/internal/draw"
	"shedload/internal/service"
	"shedload/internal/work"
)

// Backend is the configuration of the backend.
type Backend struct {
	APIURL     BaseURL `env:"API_URL" envDefault:"http://127.0.0.1:8081" help:"the apiserver's worker listener"`
	AdminAddr  Addr    `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9101" help:"faults, metrics, health"`
	AdminToken string  `env:"ADMIN_TOKEN" secret:"true" help:"bearer token for changes through the admin listener"`
	AdminOpen  bool    `env:"ADMIN_OPEN" envDefault:"false" help:"allow changes from other machines without a token"`

	Workers     int               `env:"WORKERS" envDefault:"4" min:"1" max:"10000" help:"units worked on at once"`
	ServiceTime service.Spec      `env:"SERVICE_TIME" envDefault:"50ms" help:"how long a unit takes: 50ms, uniform:50ms,50.5ms, exp:50ms, lognormal:50ms,p99=200ms"`
	ClassTimes  ClassTimes        `env:"CLASS_SERVICE_TIMES" help:"service times of classes that have their own: NAME=TIME;NAME=TIME"`
	Classes     Classes           `env:"CLASSES" help:"kinds of requests, as the apiserver has them"`
	Work        Work              `env:"WORK" envDefault:"sleep" help:"what a worker does meanwhile" allowed:"sleep, cpu"`
	Bulkheads   service.Bulkheads `env:"BULKHEADS" help:"most workers that a compartment may keep busy, NAME=WORKERS,...; work beyond that fails at once"`
	Degrade     service.Degrade   `env:"DEGRADE" help:"how service times grow with load"`
	Seed        draw.Seed         `env:"SEED" envDefault:"1" help:"selects the random service times"`

	Common
}

// Validate checks what the types do not.
func (c *Backend) Validate() error {
	for _, t := range c.ClassTimes {
		if !slices.ContainsFunc(c.Classes, func(k work.Class) bool { return k.Name == t.Class }) {
			return Wrong("CLASS_SERVICE_TIMES", t.Class, "names a class that CLASSES does not")
		}
	}
	return nil
}
