package cluster

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/xi2/xz"
)

// The archives of the Maven artifacts io.zonky.test.postgres:embedded-postgres-binaries-* hold a PostgreSQL that runs from
// any folder.
const (
	downloadVersion = "17.5.0"
	repositoryURL   = "https://repo1.maven.org/maven2"
)

// downloadedPrograms returns the downloaded PostgreSQL. It downloads it unless the user's cache folder has it.
func downloadedPrograms(ctx context.Context, progress func(string), a account) (programs, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return programs{}, err
	}
	dir, err := downloadDir(filepath.Join(cache, "callboard"), a)
	if err != nil {
		return programs{}, err
	}
	lock, err := waitLock(ctx, dir)
	if err != nil {
		return programs{}, err
	}
	defer func() { _ = unlockDir(lock) }() // closing releases it too
	bin := filepath.Join(dir, "programs", "bin")
	if pg, err := checkPrograms(ctx, bin, a); err == nil {
		return pg, nil
	}
	progress("downloading PostgreSQL " + downloadVersion)
	d := download{repository: repositoryURL, dir: dir, progress: progress}
	if err := d.run(ctx); err != nil {
		return programs{}, err
	}
	return checkPrograms(ctx, bin, a)
}

// downloadDir creates the folder of the downloaded programs where the server's user can reach it.
func downloadDir(cache string, a account) (string, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	dir, err := canonical(filepath.Join(cache, "postgresql-"+downloadVersion))
	if err != nil {
		return "", err
	}
	if !a.canReach(filepath.Dir(dir)) {
		dir = fallbackDir(dir)
		if err := makeFallbackDir(dir, a); err != nil {
			return "", err
		}
	} else if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755) // independent of the umask
}

// download puts PostgreSQL's programs into dir/programs. The caller holds the lock of dir.
type download struct {
	repository string
	dir        string
	progress   func(string)
}

// run replaces dir/programs when the new programs are complete.
func (d download) run(ctx context.Context) error {
	archive, err := d.fetchArchive(ctx)
	if err != nil {
		return err
	}
	d.progress("unpacking PostgreSQL " + downloadVersion)
	work, target := filepath.Join(d.dir, "unpacked"), filepath.Join(d.dir, "programs")
	// A killed process leaves work behind.
	if err := errors.Join(os.RemoveAll(work), os.RemoveAll(target)); err != nil {
		return err
	}
	if err := unpack(ctx, archive, work); err != nil {
		return errors.Join(fmt.Errorf("unpack: %w", err), os.RemoveAll(work))
	}
	return os.Rename(work, target)
}

// fetchArchive downloads the archive and verifies its checksum, if the repository has one.
func (d download) fetchArchive(ctx context.Context) ([]byte, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	url := d.repository + archivePath(runtime.GOOS, runtime.GOARCH, isAlpine())
	archive, err := d.get(ctx, client, url)
	if err != nil {
		return nil, err
	}
	checksum, err := d.get(ctx, client, url+".sha256")
	if errors.Is(err, errNotFound) {
		return archive, nil
	}
	if err != nil {
		return nil, err
	}
	want, _, _ := strings.Cut(strings.TrimSpace(string(checksum)), " ")
	if got := fmt.Sprintf("%x", sha256.Sum256(archive)); got != want {
		return nil, fmt.Errorf("%s: SHA-256 is %s, want %s", url, got, want)
	}
	return archive, nil
}

var errNotFound = errors.New("404 Not Found")

func (d download) get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s: %w", url, errNotFound)
	default:
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	report := &progressWriter{total: response.ContentLength, progress: d.progress}
	body, err := io.ReadAll(io.TeeReader(response.Body, report))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return body, nil
}

// progressWriter reports every megabyte that is written to it.
type progressWriter struct {
	written, total int64 // bytes; total is -1 if the server does not say it
	progress       func(string)
}

func (w *progressWriter) Write(p []byte) (int, error) {
	before := w.written >> 20
	w.written += int64(len(p))
	if now := w.written >> 20; now > before {
		w.progress(fmt.Sprintf("downloading PostgreSQL: %d of %d MB", now, max(w.total>>20, now)))
	}
	return len(p), nil
}

// archivePath is the path of the archive for a system in a Maven repository.
func archivePath(system, arch string, alpine bool) string {
	switch arch {
	case "arm64":
		arch = "arm64v8"
	case "arm":
		arch = "arm32v7"
	}
	if alpine {
		arch += "-alpine"
	}
	name := "embedded-postgres-binaries-" + system + "-" + arch
	return "/io/zonky/test/postgres/" + name + "/" + downloadVersion + "/" + name + "-" + downloadVersion + ".jar"
}

func isAlpine() bool {
	_, err := os.Stat("/etc/alpine-release")
	return err == nil
}

// unpack unpacks the archive, a zip file with a compressed tar file in it, into a new folder.
func unpack(ctx context.Context, archive []byte, dir string) error {
	outer, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err
	}
	names, err := fs.Glob(outer, "*.txz")
	if err != nil || len(names) == 0 {
		return errors.Join(err, errors.New("no .txz file in the archive"))
	}
	compressed, err := outer.Open(names[0])
	if err != nil {
		return err
	}
	defer compressed.Close()
	uncompressed, err := xz.NewReader(compressed, 0)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // an entry cannot be written outside
	if err != nil {
		return err
	}
	defer root.Close()
	for entries := tar.NewReader(uncompressed); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return makeReadable(dir)
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := writeEntry(root, header, entries); err != nil {
			return err
		}
	}
}

func writeEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := path.Clean(header.Name)
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	default:
		return fmt.Errorf("%s: unexpected type %q", name, header.Typeflag)
	}
}

// makeReadable gives all users the rights that the umask and the archive leave to the owner only: the server's user needs
// them.
func makeReadable(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode)
	})
}
