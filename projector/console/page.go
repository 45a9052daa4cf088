package console

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
)

//go:embed page
var files embed.FS

// assets are what the page contains beside its content.
type assets struct {
	Style  template.CSS
	Script template.JS
	Icon   template.URL
	policy string // the Content-Security-Policy, which allows this style and this script only
}

func loadAssets() (a assets, err error) {
	read := func(name string) string {
		text, readErr := files.ReadFile("page/" + name)
		err = errors.Join(err, readErr)
		return string(text)
	}
	style, script, icon := read("page.css"), read("page.js"), read("icon.svg")
	a.Style = template.CSS(style)                                                                         //nolint:gosec // this package's file
	a.Script = template.JS(script)                                                                        //nolint:gosec // this package's file
	a.Icon = template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(icon))) //nolint:gosec // this package's file
	a.policy = "default-src 'none'; style-src '" + digest(style) + "'; script-src '" + digest(script) + "'; img-src data:; " +
		"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	return a, err
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func parsePage() (*template.Template, error) {
	return template.New("index.html").Funcs(template.FuncMap{
		"number64": number[int64],
		"sequence": number[uint64],
	}).ParseFS(files, "page/index.html")
}
