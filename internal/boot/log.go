package boot

import (
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// Logger returns a logger that writes to w from level on: lines for people when
// w is a terminal, JSON otherwise. Safe for concurrent use.
func Logger(w io.Writer, level zapcore.Level) *zap.Logger {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(config)
	if Terminal(w) {
		config.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(config)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level))
}

// Terminal reports whether w is a terminal that a person may be looking at.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// LogEffective logs the configuration in force, given a pointer to its struct:
// one line, secrets masked.
func LogEffective(log *zap.Logger, config any) {
	settings := Effective(config)
	fields := make([]zap.Field, len(settings))
	for i, s := range settings {
		fields[i] = zap.String(s.Name, s.Value)
	}
	log.Info("configuration", fields...)
}
