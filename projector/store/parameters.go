package store

import (
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"
)

// maxKept is how large a buffer of parameters may be that is kept for later statements.
const maxKept = 8 << 20

// parameters are those of one statement, in PostgreSQL's binary format.
type parameters struct {
	buffer []byte
	values [][]byte // in buffer, or in one that was too small; nil: null
}

// encode replaces the parameters.
func (p *parameters) encode(m *pgtype.Map, types []uint32, arguments []any) error {
	if len(types) != len(arguments) {
		return fmt.Errorf("a statement of %d parameters has %d arguments", len(types), len(arguments))
	}
	p.buffer, p.values = p.buffer[:0], p.values[:0]
	for i, argument := range arguments {
		at := len(p.buffer)
		encoded, err := m.Encode(types[i], pgtype.BinaryFormatCode, argument, p.buffer)
		if err != nil {
			return fmt.Errorf("parameter %d: %w", i+1, err)
		}
		if encoded == nil {
			p.values = append(p.values, nil)
			continue
		}
		p.buffer = encoded
		p.values = append(p.values, encoded[at:])
	}
	return nil
}

// parameterPool keeps the buffers of parameters, which are megabytes in a backlog, for later statements.
type parameterPool struct{ pool sync.Pool }

func (p *parameterPool) get() *parameters {
	if kept, ok := p.pool.Get().(*parameters); ok {
		return kept
	}
	return new(parameters)
}

func (p *parameterPool) put(used *parameters) {
	if cap(used.buffer) <= maxKept {
		p.pool.Put(used)
	}
}
