package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/swaggest/swgui/v5/static"
)

// File is a static file and the headers that it is served with.
type File struct {
	ContentType  string
	CacheControl string
	Body         []byte
	Gzipped      []byte // Body, compressed with gzip; nil: it isn't
}

// PagePolicy is the page's Content-Security-Policy. It allows only resources of this server.
const PagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

//go:embed page
var page embed.FS

const (
	revalidate = "no-cache"
	immutable  = "public, max-age=31536000, immutable"
)

// Files returns the description, the page and its assets, by path. The prefix is the path of the base URL without its
// version.
func Files(baseURL, prefix string, approvals Approvals) (map[string]File, error) {
	description, err := Describe(baseURL, approvals)
	if err != nil {
		return nil, err
	}
	files := map[string]File{
		prefix + "/openapi.json": {ContentType: "application/json", CacheControl: revalidate, Body: description},
	}

	names, err := addAssets(files, prefix+"/docs/")
	if err != nil {
		return nil, err
	}

	index, err := render("index.html", map[string]any{
		"Description": prefix + "/openapi.json", "Guide": prefix + guidePath, "Assets": names,
	})
	if err != nil {
		return nil, err
	}

	// The page is found with and without a slash at the end.
	files[prefix+"/docs"], files[prefix+"/docs/"] = index, index
	return files, addGuide(files, prefix, names)
}

// render returns a page.
func render(name string, values map[string]any) (File, error) {
	t, err := template.ParseFS(page, "page/"+name)
	if err != nil {
		return File{}, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, values)
	return File{ContentType: "text/html; charset=utf-8", CacheControl: revalidate, Body: b.Bytes()}, err
}

// asset is a file that the page loads, either this package's or Swagger UI's.
type asset struct {
	key         string // its name in the template index.html
	from        fs.FS
	name        string
	contentType string
}

func assets() []asset {
	const script, style = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
	return []asset{
		{"Icon", page, "page/icon.svg", "image/svg+xml"},
		{"Style", page, "page/page.css", style},
		{"Script", page, "page/page.js", script},
		{"LibraryStyle", static.FS, "swagger-ui.css.gz", style},
		{"LibraryScript", static.FS, "swagger-ui-bundle.js.gz", script},
	}
}

// addAssets adds the assets under a folder and returns their paths by key. A path contains the digest of the content,
// so a browser never uses a cached asset of another version.
func addAssets(files map[string]File, folder string) (map[string]string, error) {
	paths := make(map[string]string)
	for _, a := range assets() {
		stored, err := fs.ReadFile(a.from, a.name)
		if err != nil {
			return nil, fmt.Errorf("asset %s: %w", a.name, err)
		}

		// An asset that is stored compressed is served in both forms.
		file := File{ContentType: a.contentType, CacheControl: immutable, Body: stored}
		name, gzipped := strings.CutSuffix(path.Base(a.name), ".gz")
		if gzipped {
			file.Gzipped = stored
			if file.Body, err = gunzip(stored); err != nil {
				return nil, fmt.Errorf("asset %s: %w", a.name, err)
			}
		}

		digest := sha256.Sum256(stored)
		stem, extension, _ := strings.Cut(name, ".")
		assetPath := folder + stem + "-" + base64.RawURLEncoding.EncodeToString(digest[:9]) + "." + extension
		files[assetPath] = file
		paths[a.key] = assetPath
	}
	return paths, nil
}

func gunzip(compressed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
