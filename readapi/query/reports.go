package query

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/readapi/encode"
	"callboard/schema"
)

// ReportFilter says which report rows are requested: those after a key, with a timestamp before Until.
type ReportFilter struct {
	System      uuid.UUID
	TimeField   TimeField
	After       ReportKey
	Until       time.Time
	Limit       int64 // at most 100, with transcripts 25
	Transcripts bool
	MaxStored   int64 // bytes of stored transcripts; above them, no text is read
}

// TimeField is the timestamp by which report rows are selected and ordered.
type TimeField string

// The time fields.
const (
	CreatedAt TimeField = "createdAt"
	UpdatedAt TimeField = "updatedAt"
)

// column is the field's column.
func (t TimeField) column() string {
	if t == UpdatedAt {
		return "updated_at"
	}
	return "created_at"
}

// ReportKey is a report row's key in the order of a time field. A row with this key need not exist.
type ReportKey struct {
	Time time.Time
	ID   uuid.UUID
}

func (k ReportKey) compare(other ReportKey) int {
	return cmp.Or(k.Time.Compare(other.Time), slices.Compare(k.ID[:], other.ID[:]))
}

// ReportKeyBefore is the last key before a time. Stored times have whole milliseconds.
func ReportKeyBefore(from time.Time) ReportKey {
	return ReportKey{Time: from.Add(-time.Millisecond), ID: uuid.Max}
}

// ReportPage is what a page's statement returns beside its rows, which are in ascending order.
type ReportPage struct {
	CompleteThrough time.Time // every event that was stored before it is in the page
	Now             time.Time // by the database's clock
	StoredBytes     int64     // of the transcripts of all the page's rows, if they were requested
	More            bool      // there are rows after the page
	Count           int       // of the page's rows
	Last            ReportKey // of the page's last row
}

// Reports reads pages of report rows, in ascending order of either time field.
type Reports struct {
	projection       *Projection
	cache            *NameCache
	sql, transcribed map[TimeField]string
	namesSQL         string
}

var (
	//go:embed list_call_log_reports.sql
	listCallLogReportsSQL string
	//go:embed list_transcribed_call_log_reports.sql
	listTranscribedCallLogReportsSQL string
	//go:embed names.sql
	namesSQL string
	//go:embed snapshot.sql
	snapshotSQL string
)

// CallLogReports reads calls as report rows. It keeps their names in the cache.
func (p *Projection) CallLogReports(d *NameCache) *Reports {
	compose := func(sql string) string {
		return strings.ReplaceAll(sql, "{{snapshot}}", snapshotSQL)
	}

	by := func(sql string) map[TimeField]string {
		named := make(map[TimeField]string)
		for _, t := range []TimeField{CreatedAt, UpdatedAt} {
			named[t] = strings.ReplaceAll(compose(sql), "{{time}}", t.column())
		}
		return named
	}

	return &Reports{
		projection: p, cache: d, sql: by(listCallLogReportsSQL), transcribed: by(listTranscribedCallLogReportsSQL),
		namesSQL: compose(namesSQL),
	}
}

// reportAttempts is how many times a page is read with its names in one transaction, after its names have changed
// between the two statements.
const reportAttempts = 5

// errOtherEdition says that the names of a page are of another edition than its rows.
var errOtherEdition = errors.New("names changed while the page was read")

// Page appends a page's rows to out, with the names that their references had in the snapshot of the rows. It returns
// [ErrNotFound] if the phone system doesn't exist.
func (r *Reports) Page(ctx context.Context, f ReportFilter, out *encode.RowWriter) (page ReportPage, err error) {
	run := r.projection.runShort(ctx)
	if f.Transcripts {
		run = r.projection.runLong(ctx)
	}

	// Names that have changed between the two statements are read with the page in one transaction.
	page, err = r.read(run, f, out)
	for attempt := 0; attempt < reportAttempts && errors.Is(err, errOtherEdition); attempt++ {
		r.cache.metrics.reruns.Inc()

		// One snapshot has one edition of names, unless a rebuild switches generations meanwhile.
		err = r.projection.inSnapshot(ctx, func(run runner) error {
			page, err = r.read(run, f, out)
			return err
		})
	}
	if err != nil {
		return ReportPage{}, fmt.Errorf("list call log reports: %w", err)
	}
	return page, nil
}

// read reads a page, and the names that are not in the cache. The error is errOtherEdition if these have changed since.
func (r *Reports) read(run runner, f ReportFilter, out *encode.RowWriter) (ReportPage, error) {
	var reading *pageReading
	sql, arguments := r.statement(f)
	err := r.projection.ofSystem(run, sql, f.System, arguments, func(rows pgx.Rows) error {
		// A statement that runs again begins another page.
		reading = &pageReading{cache: r.cache, out: out}
		return reading.read(rows, f)
	})
	if err != nil {
		return ReportPage{}, err
	}

	return reading.page, reading.complete(f.System, func(arguments []any, read read) error {
		return r.projection.ofSystem(run, r.namesSQL, f.System, arguments, read)
	})
}

func (r *Reports) statement(f ReportFilter) (sql string, arguments []any) {
	arguments = []any{f.After.Time, schema.UUID(f.After.ID), f.Until, f.Limit}
	if f.Transcripts {
		return r.transcribed[f.TimeField], append(arguments, f.MaxStored)
	}
	return r.sql[f.TimeField], arguments
}

// pageReading is a page while it is read.
type pageReading struct {
	cache   *NameCache
	out     *encode.RowWriter
	page    ReportPage
	names   *pageNames
	waiting [][][]byte // rows from the first one on whose names are not in the entry
	copied  int        // bytes of these rows
}

// read appends rows up to the first one with a missing name. Every row begins with common columns. A page without rows
// is returned as one row whose other columns are null.
func (p *pageReading) read(rows pgx.Rows, f ReportFilter) error {
	var e edition
	common := []any{&p.page.CompleteThrough, &e, &p.page.Now}
	if f.Transcripts {
		common = append(common, &p.page.StoredBytes)
	}

	if !rows.Next() {
		return noRow(rows)
	}
	if err := scanFirst(rows, common...); err != nil {
		return err
	}

	columns := rows.FieldDescriptions()[len(common):]
	if err := p.out.Begin(columns); err != nil {
		return err
	}
	p.names = &pageNames{entry: p.cache.entry(f.System, e), missing: make(names)}
	p.out.Names = p.names

	// One row more than requested tells whether there are more.
	key := f.TimeField.keyOf(columns)
	for more := rows.RawValues()[len(common)] != nil; more; more = rows.Next() {
		if int64(p.page.Count) == f.Limit {
			p.page.More = true
			continue
		}

		row := rows.RawValues()[len(common):]
		if err := p.append(row); err != nil {
			return err
		}
		if err := p.page.advance(key(row)); err != nil {
			return err
		}
	}
	return nil
}

// advance counts a row. Its key must be after that of the row before.
func (p *ReportPage) advance(key ReportKey) error {
	if p.Count > 0 && key.compare(p.Last) <= 0 {
		return fmt.Errorf("row %d of the page is not after row %d", p.Count, p.Count-1)
	}
	p.Last = key
	p.Count++
	return nil
}

// append appends a row, or keeps a copy of it if names are missing. Copies take no more than the body may: beyond it
// the page is too large, and its further rows only count.
func (p *pageReading) append(row [][]byte) error {
	entry := p.names.entry
	entry.mu.RLock()
	err := p.out.Append(row)
	entry.mu.RUnlock()
	if err != nil || len(p.names.missing) == 0 || p.copied > p.out.Room {
		return err
	}

	// All rows after a missing name wait, too, so that they stay in order.
	p.out.Remove()
	clone := make([][]byte, len(row))
	for i, value := range row {
		clone[i] = bytes.Clone(value)
		p.copied += len(value)
	}
	p.waiting = append(p.waiting, clone)
	return nil
}

// complete reads the missing names, and appends the rows that wait for them.
func (p *pageReading) complete(system uuid.UUID, run func(arguments []any, read read) error) error {
	if len(p.waiting) == 0 {
		p.cache.metrics.hits.Inc()
		return nil
	}
	p.cache.metrics.misses.Inc()

	found := p.names.missing
	var e edition
	err := run(found.arguments(), func(rows pgx.Rows) (err error) {
		e, err = found.read(rows)
		return err
	})
	if err != nil {
		return fmt.Errorf("names: %w", err)
	}

	// The names of another edition are of use for the next attempt.
	if e != p.names.entry.edition {
		p.cache.add(p.cache.entry(system, e), found)
		return errOtherEdition
	}

	// The rows find their names in the entry now.
	p.cache.add(p.names.entry, found)
	p.names.missing = make(names)

	for _, row := range p.waiting {
		if err := p.append(row); err != nil {
			return err
		}
	}
	if p.out.Count != p.page.Count {
		return fmt.Errorf("names: %d of %d rows have all their names", p.out.Count, p.page.Count)
	}
	return nil
}

// pageNames implements [encode.Names] by an entry.
type pageNames struct {
	entry   *cacheEntry
	missing names // which were asked for, and are not in the entry
}

// Reference implements [encode.Names].
func (n *pageNames) Reference(family string, id uuid.UUID) string {
	shown, ok := n.entry.names[nameKey{family: family, id: id}]
	if !ok {
		n.missing[nameKey{family: family, id: id}] = shownName{}
	}
	return shown.object
}

// Code implements [encode.Names].
func (n *pageNames) Code(kind string, code []byte) (object, score string) {
	shown, ok := n.entry.names[nameKey{family: kind, code: string(code)}]
	if !ok {
		n.missing[nameKey{family: kind, code: string(code)}] = shownName{}
		return "{}", "null"
	}
	return shown.object, shown.score
}

// keyOf returns the function that reads a row's key from its columns.
func (t TimeField) keyOf(columns []pgconn.FieldDescription) func(row [][]byte) ReportKey {
	at := func(name string) int {
		return slices.IndexFunc(columns, func(c pgconn.FieldDescription) bool { return c.Name == name })
	}
	id, instant := at("id"), at(t.column())
	return func(row [][]byte) ReportKey {
		return ReportKey{Time: encode.InstantOf(row[instant]), ID: uuid.UUID(row[id])}
	}
}
