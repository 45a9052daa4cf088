package run

import (
	"io"
	"os"

	"github.com/vbauerster/mpb/v8/cwriter"
)

// IsTerminal reports whether w is a terminal that can move its cursor. It has a size, and TERM is not dumb.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !cwriter.IsTerminal(int(f.Fd())) {
		return false
	}
	width, _, err := cwriter.GetSize(int(f.Fd()))
	return err == nil && width > 0
}

// HasColors reports whether w shows colors: it is a terminal, and NO_COLOR is not set (no-color.org).
func HasColors(w io.Writer) bool { return IsTerminal(w) && os.Getenv("NO_COLOR") == "" }
