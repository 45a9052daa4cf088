package readapi

import (
	"bytes"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the size in bytes above which report pages with transcripts are compressed. Compressing smaller
// responses costs more than making them, so it is left to proxies.
const minCompressed = 1 << 20

// The content codings.
const (
	zstdCoding = "zstd"
	gzipCoding = "gzip"
)

// compressor compresses bodies. It is safe for concurrent use.
type compressor struct {
	zstd  *zstd.Encoder
	gzips sync.Pool // of *gzip.Writer
}

func newCompressor() (*compressor, error) {
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	return &compressor{zstd: encoder}, err
}

// compress compresses a large body by the coding that the client prefers, if it accepts any.
func (c *compressor) compress(r *http.Request, out *reply) error {
	if !out.transcripts || len(out.body) <= minCompressed {
		return nil
	}

	// The body depends on the header even if no coding is chosen, and Vary must say so.
	out.negotiated = true

	var err error
	switch out.coding = preferredCoding(r.Header["Accept-Encoding"], zstdCoding, gzipCoding); out.coding {
	case zstdCoding:
		out.body = c.zstd.EncodeAll(out.body, make([]byte, 0, len(out.body)/4))
	case gzipCoding:
		out.body, err = c.gzip(out.body)
	}
	return err
}

func (c *compressor) gzip(body []byte) ([]byte, error) {
	compressed := bytes.NewBuffer(make([]byte, 0, len(body)/2))

	w, ok := c.gzips.Get().(*gzip.Writer)
	if !ok {
		var err error
		if w, err = gzip.NewWriterLevel(nil, gzip.BestSpeed); err != nil {
			return nil, err
		}
	}
	defer c.gzips.Put(w)

	w.Reset(compressed)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err := w.Close()
	return compressed.Bytes(), err
}

// preferredCoding returns the first of the offered content codings that Accept-Encoding names, and an empty text if it
// names none. A coding with the weight 0 is not accepted.
func preferredCoding(values []string, offers ...string) string {
	accepted := make(map[string]bool)
	for element := range strings.SplitSeq(strings.ToLower(strings.Join(values, ",")), ",") {
		name, parameter, _ := strings.Cut(element, ";")
		weight := strings.TrimPrefix(strings.TrimSpace(parameter), "q=")
		accepted[strings.TrimSpace(name)] = weight == "" || strings.Trim(weight, "0.") != ""
	}

	for _, offer := range offers {
		if accepted[offer] {
			return offer
		}
	}
	return ""
}
