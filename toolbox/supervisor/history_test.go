// Tests of what is new in a terminal, and of the cut.
package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func captureOf(size, start int, text string) captured {
	kept := &headTail{limit: maxBlockBytes}
	if _, err := kept.Write([]byte(text)); err != nil {
		panic(err)
	}
	return captured{size, start, kept}
}

func TestFreshOutputBeginsWithTheLastLineOfThePreviousCapture(t *testing.T) {
	var h history
	if fresh := h.advance(captureOf(0, 0, "$\n\n\n"), 3, 1000); fresh != nil {
		t.Errorf("nothing was captured before, yet %q is fresh", *fresh)
	}
	fresh := h.advance(captureOf(0, 0, "$ echo hi\nhi\n$\n"), 3, 1000)
	if fresh == nil || *fresh != "$ echo hi\nhi\n$\n" {
		t.Fatalf("%v", fresh)
	}
	fresh = h.advance(captureOf(2, 0, "$ echo hi\nhi\n$ ls\na\n$\n"), 3, 1000)
	if fresh == nil || *fresh != "$ ls\na\n$\n" || h.screen != "$ ls\na\n$\n" {
		t.Fatalf("%v, screen %q", fresh, h.screen)
	}
	if fresh := h.advance(captureOf(0, 0, "top\n1\n2\n"), 3, 1000); fresh != nil {
		t.Errorf("the screen was cleared, yet %q is fresh", *fresh)
	}
}

func TestALongHistoryIsComparedByItsEnd(t *testing.T) {
	var h history
	lines := func(from, to int) string {
		var out strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&out, "line %d\n", i)
		}
		return out.String()
	}
	h.advance(captureOf(9997, 0, lines(0, 10000)), 3, 1000)
	if h.from() != 9997-comparedLines {
		t.Fatal(h.from())
	}
	fresh := h.advance(captureOf(10002, h.from(), lines(h.from(), 10005)), 3, 1000)
	if fresh == nil || *fresh != lines(9999, 10005) {
		t.Fatalf("%v", fresh)
	}
	// Five lines were written between the question for the size and the capture.
	missed := h.from() + 5
	fresh = h.advance(captureOf(10010, missed, lines(missed, 10013)), 3, 1000)
	if fresh == nil || *fresh != lines(10004, 10013) {
		t.Fatalf("%v", fresh)
	}
	if fresh := h.advance(captureOf(90000, 80000, lines(80000, 90003)), 3, 1000); fresh != nil {
		t.Errorf("the previous capture cannot be found, yet %d bytes are fresh", len(*fresh))
	}
	if got := len(h.previous); got > 1<<20 {
		t.Errorf("%d bytes are kept", got)
	}
}

func TestAnOutputBeyondTheBlockIsFreshByItsBothEnds(t *testing.T) {
	var h history
	h.advance(captureOf(0, 0, "$\n\n"), 2, 100)
	kept := &headTail{limit: 2000}
	fmt.Fprintf(kept, "$ yes\n%s$\n", strings.Repeat("y\n", 1_000_000))
	fresh := h.advance(captured{1_000_000, 0, kept}, 2, 100)
	if fresh == nil || !strings.HasPrefix(*fresh, "$ yes\ny\n") || !strings.HasSuffix(*fresh, "y\n$\n") ||
		!strings.Contains(*fresh, "limited to 100 bytes; 1999908 bytes omitted") {
		t.Fatalf("%q", *fresh)
	}
}

func TestACutKeepsBothHalvesAndNoBrokenCharacter(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 500), strings.Repeat("日本", 300), strings.Repeat("😀", 200), strings.Repeat("a", 1000)} {
		for limit := 1; limit < 120; limit++ {
			got := cut([]byte(text), nil, 0, limit)
			if !utf8.ValidString(got) {
				t.Fatalf("limit %d: %q", limit, got)
			}
			parts := strings.Split(got, "\n")
			if len(parts) != 3 || len(parts[0]) > limit/2 || len(parts[2]) > limit/2 || len(parts[0]) <= limit/2-4 {
				t.Fatalf("limit %d: %q", limit, got)
			}
			if want := len(text) - len(parts[0]) - len(parts[2]); !strings.Contains(parts[1], fmt.Sprintf(" %d bytes omitted", want)) {
				t.Fatalf("limit %d: %q, want %d omitted", limit, parts[1], want)
			}
		}
	}
	if got := cut([]byte("ab"), []byte("cd"), 0, 4); got != "abcd" {
		t.Errorf("%q", got)
	}
}
