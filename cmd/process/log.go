package process

import (
	"io"
	"time"

	"github.com/rs/zerolog"

	"callboard/cmd/setting"
)

// NewLog is the program's logger.
func NewLog(s setting.Log, w io.Writer) zerolog.Logger {
	if s.Format.Get() == setting.Console {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(w).Level(s.Level.Get()).With().Timestamp().Logger()
}
