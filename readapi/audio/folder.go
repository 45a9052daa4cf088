package audio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"callboard/readapi/access"
)

// Folder is a store in a folder of the local file system. It serves its links itself.
type Folder struct {
	dir    string
	prefix string // of all links
	sealer *access.Sealer
}

func newFolder(dir, prefix string, secret []byte) (*Folder, error) {
	sealer, err := access.NewSealer(secret, "audio")
	if err != nil {
		return nil, fmt.Errorf("links to audio: %w", err)
	}
	return &Folder{dir: dir, prefix: prefix, sealer: sealer}, nil
}

// ticket is the content of a sealed link: the object and when the link expires.
type ticket struct {
	Object
	Expires int64 // seconds since 1970
}

// Sign implements [Store].
func (f *Folder) Sign(_ context.Context, o Object) (Link, error) {
	expires := time.Now().UTC().Truncate(time.Second).Add(lifetime)
	message, err := json.Marshal(ticket{o, expires.Unix()})
	if err != nil {
		return Link{}, fmt.Errorf("sign a link to audio: %w", err)
	}
	return Link{URL: f.prefix + f.sealer.Seal(message), Expires: expires}, nil
}

// openTicket returns the object of a link's last segment. The error is [ErrNotFound] if the link is invalid or expired.
func (f *Folder) openTicket(token string) (Object, error) {
	message, err := f.sealer.Open(token)
	if err != nil {
		return Object{}, ErrNotFound
	}
	var t ticket
	if err := json.Unmarshal(message, &t); err != nil || time.Now().Unix() >= t.Expires {
		return Object{}, ErrNotFound
	}
	return t.Object, nil
}

// ErrNotFound is returned for a link that is invalid or expired, and for a link to a file that does not exist.
var ErrNotFound = errors.New("audio not found")

// audioFile is an open file.
type audioFile struct {
	*os.File
	size     int64
	modified time.Time
	etag     string
}

// open opens the file of a key. The error is [ErrNotFound] if there is none, or if the key leads out of the folder.
func (f *Folder) open(key string) (*audioFile, error) {
	path, err := filepath.Localize(key)
	if err != nil {
		return nil, ErrNotFound
	}

	// The root refuses symbolic links that lead out of the folder.
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()

	// The file is looked at before it is opened, because opening a named pipe would block.
	info, err := root.Stat(path)
	if err != nil {
		return nil, notFoundOr(err)
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotFound
	}

	file, err := root.Open(path)
	if err != nil {
		return nil, notFoundOr(err)
	}
	return &audioFile{file, info.Size(), info.ModTime(), entityTag(info)}, nil
}

// notFoundOr returns [ErrNotFound] if err means that there is no such file. Other errors of the operating system, such
// as missing permissions, are for the operator. An error that is not the operating system's comes from a symbolic link
// that leads out of the folder.
func notFoundOr(err error) error {
	var system syscall.Errno
	if !errors.As(err, &system) {
		return ErrNotFound
	}
	switch system {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP:
		return ErrNotFound
	default:
		return err
	}
}

// entityTag changes with the file's size or modification time.
func entityTag(info fs.FileInfo) string {
	return `"` + strconv.FormatInt(info.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(info.Size(), 36) + `"`
}

// ConditionError is returned if the file does not meet a precondition of the request or does not have the requested
// range.
type ConditionError struct {
	Status int // 412 or 416
}

func (e *ConditionError) Error() string { return http.StatusText(e.Status) }

// Serve responds to a request for a link whose last segment is token. If it returns an error, it has not responded:
// [ErrNotFound], a [*ConditionError], or the reason why the folder cannot be read.
func (f *Folder) Serve(w http.ResponseWriter, r *http.Request, token string) error {
	object, err := f.openTicket(token)
	if err != nil {
		return err
	}

	file, err := f.open(object.Key)
	if err != nil {
		return err
	}
	defer file.Close()

	header := w.Header()
	header.Set("Content-Type", object.mediaType())
	header.Set("Content-Disposition", contentDisposition)
	header.Set("Cache-Control", cacheControl)
	header.Set("ETag", file.etag)

	// A range has a meaning for GET alone, and an unknown unit is ignored (RFC 9110, 14.2). net/http would refuse the
	// unit, and would answer the last zero bytes with an impossible Content-Range.
	if rng := r.Header.Get("Range"); r.Method != http.MethodGet || !strings.HasPrefix(rng, "bytes=") || rng == "bytes=-0" {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}

	filter := &errorFilter{ResponseWriter: w, control: http.NewResponseController(w), began: time.Now()}
	http.ServeContent(filter, r, "", file.modified, file)
	return filter.err(file.size)
}

// errorFilter passes on the responses of [http.ServeContent] except errors, which would be plain text. It cuts off slow
// clients.
type errorFilter struct {
	http.ResponseWriter
	control     *http.ResponseController
	began       time.Time
	written     int64
	errorStatus int // zero without an error
}

// A client that has read less than this is cut off: its download holds a connection and an open file. Telephone audio
// plays as fast, so a player that reads what it plays is not cut off.
const (
	slowestRate = 8 << 10 // bytes per second
	slowGrace   = 30 * time.Second
)

// WriteHeader implements [http.ResponseWriter].
func (e *errorFilter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		e.errorStatus = status
		return
	}
	e.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (e *errorFilter) Write(b []byte) (int, error) {
	if e.errorStatus != 0 {
		return len(b), nil
	}

	e.written += int64(len(b))
	deadline := e.began.Add(max(slowGrace, time.Duration(e.written)*time.Second/slowestRate))
	_ = e.control.SetWriteDeadline(deadline) // a recorder in a test does not support deadlines
	return e.ResponseWriter.Write(b)
}

// err returns the error that was filtered, and removes the headers of the response that was not sent.
func (e *errorFilter) err(size int64) error {
	if e.errorStatus == 0 {
		return nil
	}

	// The headers of the file do not fit the problem document that follows.
	for _, name := range []string{"Content-Disposition", "Etag", "Last-Modified"} {
		e.Header().Del(name)
	}
	if e.errorStatus == http.StatusRequestedRangeNotSatisfiable {
		e.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
	}
	return &ConditionError{e.errorStatus}
}
