package boot

import (
	"time"

	"shedload/internal/admit"
	"shedload/internal/queue"
)

// APIServer is the configuration of the apiserver.
type APIServer struct {
	ListenAddr Addr   `env:"LISTEN_ADDR" envDefault:"127.0.0.1:8080" help:"where clients connect"`
	WorkerAddr Addr   `env:"WORKER_ADDR" envDefault:"127.0.0.1:8081" help:"where backends fetch work"`
	AdminAddr  Addr   `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9100" help:"policy, ledger, metrics, health"`
	AdminToken string `env:"ADMIN_TOKEN" secret:"true" help:"bearer token for changes through the admin listener"`
	AdminOpen  bool   `env:"ADMIN_OPEN" envDefault:"false" help:"allow changes from other machines without a token"`

	QueueDiscipline queue.Discipline `env:"QUEUE_DISCIPLINE" envDefault:"fifo" help:"order and shed of the queue: ORDER[+SHED...]"`
	DropMargin      *queue.Margin    `env:"DROP_MARGIN" help:"how long before its deadline a unit is doomed; 70ms where the discipline has a deadline shed" allowed:"a duration (70ms), or auto"`
	SilentDrops     bool             `env:"SILENT_DROPS" envDefault:"false" help:"do not tell the waiting client that its unit was dropped"`
	CodelTarget     time.Duration    `env:"CODEL_TARGET" envDefault:"5ms" min:"1us" max:"1h" help:"acceptable standing delay of codel and controlled-delay"`
	CodelInterval   time.Duration    `env:"CODEL_INTERVAL" envDefault:"100ms" min:"1us" max:"1h" help:"how long the delay may stand above the target"`
	Door            admit.Spec       `env:"DOOR" envDefault:"open" help:"who is let in to the queue"`
	Classes         Classes          `env:"CLASSES" help:"kinds of requests: NAME:CRITICALITY[:COMPARTMENT],..."`
	HardLimit       int              `env:"QUEUE_HARD_LIMIT" envDefault:"1000000" min:"1" max:"50000000" help:"units queued at most, whatever the door allows: the memory guard"`
	RetryAfter      time.Duration    `env:"RETRY_AFTER" envDefault:"0s" min:"0s" max:"1h" help:"how long a refused client is asked to stay away; whole seconds on the wire"`
	DoNotRetry      bool             `env:"DO_NOT_RETRY" envDefault:"false" help:"ask refused clients not to try again"`

	Patience time.Duration `env:"PATIENCE" envDefault:"1s" min:"1ms" max:"1h" help:"how long clients usually wait; a boundary of the histograms"`

	CancelAbandoned bool          `env:"CANCEL_ABANDONED" envDefault:"false" help:"take a unit off the queue when its client leaves"`
	LeaseTimeout    time.Duration `env:"LEASE_TIMEOUT" envDefault:"10s" min:"10ms" max:"1h" help:"a unit not reported by then is lost"`
	Retention       time.Duration `env:"RETENTION" envDefault:"60s" min:"1s" max:"1h" help:"how long a finished operation can be asked for"`
	MaxBodyBytes    int           `env:"MAX_BODY_BYTES" envDefault:"65536" min:"0" max:"16777216" help:"largest request body"`
	MaxConns        int           `env:"MAX_CONNS" envDefault:"65536" min:"1" max:"1000000" help:"open client connections at most; fewer where the file limit is lower"`

	Common
}
