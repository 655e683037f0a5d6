package gitrepo

import (
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func idOf(t *testing.T, digit string) gitwire.ObjectID {
	t.Helper()
	id, err := gitwire.ParseObjectID(strings.Repeat(digit, 40))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// inspected asks in two rounds, hands the answers on in pieces of that size, and returns what was asked and what was heard.
func inspected(t *testing.T, answers string, piece int) (asked, heard string, err error) {
	t.Helper()
	x := &inspection{questions: newQuestions(t.Context())}
	hear := func(o object) error {
		heard += o.kind + ":" + string(o.contents) + ";"
		if o.kind == "bad" {
			return errors.New("bad")
		}
		return nil
	}
	x.info(idOf(t, "a"), "^{tree}", hear)
	x.info(idOf(t, "b"), "", hear)
	x.round(func() error {
		x.read(idOf(t, "c"), "", hear)
		x.read(idOf(t, "d"), "", hear)
		x.round(func() error { x.round(nil); return nil })
		return nil
	})
	for rest := answers; rest != "" && err == nil; {
		n := min(piece, len(rest))
		_, err = x.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	over := x.questions.over
	x.questions.end()
	b := make([]byte, 7)
	for n := 1; n > 0; {
		n, _ = x.questions.Read(b)
		asked += string(b[:n])
	}
	if err == nil && !over {
		asked += "…"
	}
	return asked, heard, err
}

// Answers mean the same however they are cut into pieces, and what is asked next waits for them.
func TestAnswersInPieces(t *testing.T) {
	a, b, c, d := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40), strings.Repeat("d", 40)
	first := "info " + a + "^{tree}\ninfo " + b + "\nflush\n"
	then := "contents " + c + "\ncontents " + d + "\nflush\n"
	told := a + " tree 10\n" + b + " missing\n"
	content := c + " blob 12\n\n\nx missing\n\n" + d + " blob 0\n\n"
	for piece := 1; piece <= len(told)+len(content); piece++ {
		if asked, heard, err := inspected(t, told+content, piece); asked != first+then || heard != "tree:;:;blob:\n\nx missing\n;blob:;" || err != nil {
			t.Fatalf("in pieces of %d: %q, %q, %v", piece, asked, heard, err)
		}
	}
	if asked, heard, err := inspected(t, told[:len(told)-1], 1); asked != first+"…" || heard != "tree:;" || err != nil {
		t.Errorf("%q, %q, %v", asked, heard, err)
	}
	if asked, _, err := inspected(t, told+content[:len(content)-1], 1); asked != first+then+"…" || err != nil {
		t.Errorf("%q, %v", asked, err)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	a, b, c, d := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40), strings.Repeat("d", 40)
	told := a + " tree 10\n" + b + " missing\n"
	for _, answers := range []string{
		a + " tree\n", a + " tree 1 2\n", a + " tree x\n", a + " tree -1\n", strings.Repeat("x", 300), a + " bad 1\n",
		told + c + " missing\n" + d + " blob 0\n\n" + "more",
	} {
		if _, _, err := inspected(t, answers, 1000); err == nil {
			t.Errorf("%q is taken", answers)
		}
	}
}
