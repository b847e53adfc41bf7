// Tests of gitignore-style patterns.
package main

import "testing"

func TestPatternsMatchAsGitignoreSays(t *testing.T) {
	for _, one := range []struct {
		lines []string
		path  string
		isDir bool
		want  bool
	}{
		{[]string{"*.pyc"}, "a/b/c.pyc", false, true},
		{[]string{"*.pyc"}, "a/b/c.pyc.txt", false, false},
		{[]string{"node_modules/"}, "x/node_modules", true, true},
		{[]string{"node_modules/"}, "x/node_modules", false, false},
		{[]string{"/build"}, "build", true, true},
		{[]string{"/build"}, "a/build", true, false},
		{[]string{"a/b"}, "a/b", false, true},
		{[]string{"a/b"}, "x/a/b", false, false},
		{[]string{"**/b"}, "b", false, true},
		{[]string{"**/b"}, "x/y/b", false, true},
		{[]string{"a/**"}, "a/x/y", false, true},
		{[]string{"a/**"}, "a", true, false},
		{[]string{"a/**/z"}, "a/z", false, true},
		{[]string{"a/**/z"}, "a/b/c/z", false, true},
		{[]string{"a*b"}, "a/b", false, false},
		{[]string{"a?c"}, "abc", false, true},
		{[]string{"a?c"}, "a/c", false, false},
		{[]string{"[a-c]x"}, "bx", false, true},
		{[]string{"[!a-c]x"}, "bx", false, false},
		{[]string{"[!a-c]x"}, "dx", false, true},
		{[]string{"[]]x"}, "]x", false, true},
		{[]string{"[x"}, "[x", false, true},
		{[]string{`\*`}, "*", false, true},
		{[]string{`\*`}, "a", false, false},
		{[]string{"*.log", "!keep.log"}, "keep.log", false, false},
		{[]string{"!keep.log", "*.log"}, "keep.log", false, true},
		{[]string{"# comment", ""}, "# comment", false, false},
		{[]string{"a+(b)"}, "a+(b)", false, true},
	} {
		parsed, err := parsePatterns(one.lines)
		if err != nil {
			t.Fatal(one.lines, err)
		}
		if got := parsed.match(one.path, one.isDir); got != one.want {
			t.Errorf("%v on %s: %v", one.lines, one.path, got)
		}
	}
}
