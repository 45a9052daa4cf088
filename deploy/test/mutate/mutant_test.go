package mutate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// mutant is one small change of a file.
type mutant struct {
	file       string // from the root of the project
	line       int
	start, end int // bytes that are replaced
	was, is    string
}

// apply returns the text of the file with the change.
func (m mutant) apply(text []byte) []byte {
	return []byte(string(text[:m.start]) + m.is + string(text[m.end:]))
}

// mutantsOf returns the changes of a file that the tests of its package should notice.
func mutantsOf(file string, text []byte) ([]mutant, error) {
	if filepath.Ext(file) == ".sql" {
		return mutantsOfSQL(file, text), nil
	}
	return mutantsOfGo(file, text)
}

//nolint:gochecknoglobals // constants
var (
	otherOperator = map[token.Token]string{
		token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
		token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+", token.MUL: "+", token.QUO: "*",
	}

	otherWord = map[string]string{
		"true": "false", "false": "true", "min": "max", "max": "min", "continue": "break", "break": "continue",
	}

	// silent calls log or count for people. No test has to notice that one is missing.
	silent = regexp.MustCompile(`\.(Msg|Msgf|Send|Inc|Observe|Add|Set|End|SetAttributes|RecordError)\(|^panic\(`)
)

func mutantsOfGo(file string, text []byte) ([]mutant, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, 0)
	if err != nil {
		return nil, err
	}
	var found []mutant
	add := func(from, to token.Pos, is string) {
		start, end := files.Position(from), files.Position(to)
		found = append(found, mutant{
			file: file, line: start.Line, start: start.Offset, end: end.Offset,
			was: string(text[start.Offset:end.Offset]), is: is,
		})
	}
	word := func(at token.Pos, was string) { add(at, at+token.Pos(len(was)), otherWord[was]) }

	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if is := otherOperator[n.Op]; is != "" {
				add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), is)
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(n.Pos(), n.Pos()+1, "")
			}
		case *ast.IfStmt:
			add(n.Cond.Pos(), n.Cond.End(), "!("+string(text[files.Position(n.Cond.Pos()).Offset:files.Position(n.Cond.End()).Offset])+")")
		case *ast.BasicLit:
			if number, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
				add(n.Pos(), n.End(), strconv.Itoa(number+1))
			}
		case *ast.Ident:
			if otherWord[n.Name] != "" {
				word(n.Pos(), n.Name)
			}
		case *ast.BranchStmt:
			if n.Label == nil && otherWord[n.Tok.String()] != "" {
				word(n.Pos(), n.Tok.String())
			}
		case *ast.ExprStmt:
			if !silent.Match(text[files.Position(n.Pos()).Offset:files.Position(n.End()).Offset]) {
				add(n.Pos(), n.End(), "")
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				add(n.Pos(), n.End(), "")
			}
		case *ast.IncDecStmt, *ast.DeferStmt:
			add(n.Pos(), n.End(), "")
		}
		return true
	})
	return found, nil
}

//nolint:gochecknoglobals // constants
var (
	sqlWord = regexp.MustCompile(`\b(and|or|greatest|least|asc|desc|min|max|is null|is not null|exists|not exists|true|false)\b|<>|<=|>=|[<>=]`)

	otherSQL = map[string]string{
		"and": "or", "or": "and", "greatest": "least", "least": "greatest", "asc": "desc", "desc": "asc", "min": "max", "max": "min",
		"is null": "is not null", "is not null": "is null", "exists": "not exists", "not exists": "exists", "true": "false", "false": "true",
		"<>": "=", "=": "<>", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
	}
)

// mutantsOfSQL doesn't parse. It changes words and operators outside of comments.
func mutantsOfSQL(file string, text []byte) []mutant {
	var found []mutant
	offset := 0
	for number, line := range strings.SplitAfter(string(text), "\n") {
		code, _, _ := strings.Cut(line, "--")
		for _, at := range sqlWord.FindAllStringIndex(code, -1) {
			was := code[at[0]:at[1]]
			found = append(found, mutant{
				file: file, line: number + 1, start: offset + at[0], end: offset + at[1], was: was, is: otherSQL[was],
			})
		}
		offset += len(line)
	}
	return found
}
