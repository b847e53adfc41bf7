// gitignore-style patterns of what an archive leaves out.
package main

import (
	"regexp"
	"strings"
)

// pattern is one line: the last one that matches decides.
type pattern struct {
	expression *regexp.Regexp
	negated    bool
	dirOnly    bool
}

type patterns []pattern

// parsePatterns reads each line as gitignore(5) does: `#` comments, `!` negates, a trailing slash means a directory,
// a slash elsewhere anchors at the taken path, `**` is any number of directories.
func parsePatterns(lines []string) (patterns, error) {
	var parsed patterns
	for _, line := range lines {
		text := strings.TrimRight(line, " ")
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		var one pattern
		if strings.HasPrefix(text, "!") {
			one.negated, text = true, text[1:]
		}
		if strings.HasSuffix(text, "/") {
			one.dirOnly, text = true, strings.TrimSuffix(text, "/")
		}
		anchored := strings.Contains(text, "/")
		text = strings.TrimPrefix(text, "/")
		prefix := "^"
		if !anchored {
			prefix = "^(?:.*/)?"
		}
		expression, err := regexp.Compile(prefix + globExpression(text) + "$")
		if err != nil {
			return nil, badRequest("exclude: %q is not a pattern: %v", line, err)
		}
		one.expression = expression
		parsed = append(parsed, one)
	}
	return parsed, nil
}

// globExpression writes a glob as a regular expression in which `*` and `?` stop at slashes.
func globExpression(glob string) string {
	var out strings.Builder
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || glob[i-1] == '/'):
			out.WriteString("(?:.*/)?")
			i += 2
		case rest == "**" && i > 0 && glob[i-1] == '/':
			out.WriteString(".+")
			i++
		case glob[i] == '*':
			out.WriteString("[^/]*")
		case glob[i] == '?':
			out.WriteString("[^/]")
		case glob[i] == '\\' && i+1 < len(glob):
			i++
			out.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		case glob[i] == '[':
			if class, length := classExpression(rest); length > 0 {
				out.WriteString(class)
				i += length - 1
				continue
			}
			out.WriteString(`\[`)
		default:
			out.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	return out.String()
}

// classExpression gives a bracket expression and its length in the glob; 0 where it has no end.
func classExpression(text string) (string, int) {
	start := 1
	if len(text) > start && (text[start] == '!' || text[start] == '^') {
		start++
	}
	if len(text) <= start+1 {
		return "", 0
	}
	// A bracket right at the start is a member of the class, not its end.
	end := strings.IndexByte(text[start+1:], ']')
	if end < 0 {
		return "", 0
	}
	end += start + 1
	inner := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(text[start:end])
	if start == 2 {
		return "[^/" + inner + "]", end + 1
	}
	return "[" + inner + "]", end + 1
}

func (p patterns) match(path string, isDir bool) bool {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].dirOnly && !isDir {
			continue
		}
		if p[i].expression.MatchString(path) {
			return !p[i].negated
		}
	}
	return false
}
