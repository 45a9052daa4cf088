package readapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the size in bytes above which report pages with transcripts are compressed. Compressing smaller responses costs more than
// making them, so it is left to proxies.
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

// preferredCoding returns the offered content coding with the largest weight in Accept-Encoding, the first of equal ones. It returns an
// empty text for the identity, if the client prefers it or names no offered coding. A client that accepts nothing at all gets it too: a
// response that it can ignore says more than a refusal.
func preferredCoding(values []string, offers ...string) string {
	weights := codingWeights(values)
	preferred, largest := "", weights["identity"]
	for _, offer := range offers {
		weight, named := weights[offer]
		if !named {
			weight = weights["*"]
		}
		if weight > largest || preferred == "" && weight > 0 && weight == largest {
			preferred, largest = offer, weight
		}
	}
	return preferred
}

// codingWeights returns the weights of the codings in Accept-Encoding, in thousandths.
func codingWeights(values []string) map[string]int {
	weights := make(map[string]int)
	for _, value := range values {
		for element := range strings.SplitSeq(value, ",") {
			name, parameter, weighed := strings.Cut(element, ";")
			weight := 1000
			if weighed {
				weight = parseWeight(parameter)
			}
			weights[strings.ToLower(strings.TrimSpace(name))] = weight
		}
	}
	return weights
}

// parseWeight returns the weight of a parameter such as "q=0.5" in thousandths: 0, which excludes the coding, if it is malformed.
func parseWeight(parameter string) int {
	name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
	weight, err := strconv.ParseFloat(value, 64)
	if !strings.EqualFold(name, "q") || err != nil || !(weight >= 0 && weight <= 1) {
		return 0
	}
	return int(weight*1000 + 0.5)
}
