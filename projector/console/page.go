package console

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
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

func loadAssets() assets {
	read := func(name string) string {
		text, _ := files.ReadFile("page/" + name) // the files are in the program
		return string(text)
	}

	style, script, icon := read("page.css"), read("page.js"), base64.StdEncoding.EncodeToString([]byte(read("icon.svg")))
	return assets{
		Style:  template.CSS(style),                               //nolint:gosec // this package's file
		Script: template.JS(script),                               //nolint:gosec // this package's file
		Icon:   template.URL("data:image/svg+xml;base64," + icon), //nolint:gosec // this package's file

		// The page may use these files alone, which the policy names by their digests.
		policy: "default-src 'none'; style-src '" + digest(style) + "'; script-src '" + digest(script) +
			"'; img-src data:; " +
			"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func parsePage() *template.Template {
	page := template.New("index.html").Funcs(template.FuncMap{"number64": number[int64], "sequence": number[uint64]})
	return template.Must(page.ParseFS(files, "page/index.html"))
}
