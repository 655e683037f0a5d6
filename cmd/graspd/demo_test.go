package main

import (
	"io"
	"strings"
	"testing"
)

func TestDemoConvergesAndCarriesALiveEvent(t *testing.T) {
	if raceDetector {
		t.Skip("too slow under the race detector, which sees every part in tests of its own")
	}
	out, errs := newOutput(), newOutput()
	if code := run(t.Context(), []string{"demo", "--once"}, stdio{strings.NewReader(""), out, errs}, noEnv); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{"\nconverged: ", "\nit is on relay 1 after", "\nit is on relay 2 after", "All relays have stopped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "\r") {
		t.Error("lines are drawn again where the output is no terminal")
	}
}

func TestDemoEndsOnInterrupt(t *testing.T) {
	if raceDetector {
		t.Skip("too slow under the race detector, which sees every part in tests of its own")
	}
	r := start(t, "demo")
	r.out.await(t, `converged: `)
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(r.out.String(), "data is removed") {
		t.Errorf("it says nothing at its end:\n%s", r.out)
	}
}

func TestDemoTakesNoArguments(t *testing.T) {
	if code := run(t.Context(), []string{"demo", "now"}, stdio{strings.NewReader(""), io.Discard, io.Discard}, noEnv); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}
