package audio

import (
	"net/http"
	"strconv"
	"time"
)

// ConditionError is a condition or a range that a request asks for and the audio doesn't meet.
type ConditionError struct {
	Status int // 412 or 416
}

// Error is the status's text.
func (e *ConditionError) Error() string { return http.StatusText(e.Status) }

// Serve answers a request for a link whose last segment is token. It returns an error where it has answered nothing:
// [ErrNotFound], a [*ConditionError], or what keeps the folder from being read.
func (f *Folder) Serve(w http.ResponseWriter, r *http.Request, token string) error {
	object, err := f.redeem(token)
	if err != nil {
		return err
	}
	clip, err := f.open(object.Key)
	if err != nil {
		return err
	}
	defer clip.Close()
	header := w.Header()
	header.Set("Content-Type", object.mediaType())
	header.Set("Content-Disposition", contentDisposition)
	header.Set("Cache-Control", cacheControl)
	header.Set("ETag", clip.tag)
	answer := &answer{ResponseWriter: w, control: http.NewResponseController(w)}
	http.ServeContent(answer, r, "", clip.changed, clip)
	return answer.refusal(clip.size)
}

// answer passes on what [http.ServeContent] answers, but not its errors, which are plain text.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	refused int // the status of an error
}

// patience is how long a listener may take to accept a piece, however long the whole is.
const patience = 30 * time.Second

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		a.refused = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(b []byte) (int, error) {
	if a.refused != 0 {
		return len(b), nil
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(patience)) // where there is a connection
	return a.ResponseWriter.Write(b)
}

// refusal is the error that was kept back, and takes back what was said of an answer that there won't be.
func (a *answer) refusal(size int64) error {
	if a.refused == 0 {
		return nil
	}
	for _, name := range []string{"Content-Disposition", "Etag", "Last-Modified"} {
		a.Header().Del(name)
	}
	if a.refused == http.StatusRequestedRangeNotSatisfiable {
		a.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
	}
	return &ConditionError{a.refused}
}
