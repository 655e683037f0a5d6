package gitproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Run is one run of a command.
type Run struct {
	Kind     Kind
	Party    string // whose work it is, for turns; "" is our own, which is never refused a place among those that wait
	Owner    string // for whom it is, in turns of those who have as many and took as much; "" is nobody
	Heavy    bool   // it may take seconds of the processor: it does not keep others from their slots
	At       Dirs
	Protocol int       // 1 or 2 of git's protocol; else 0
	In       io.Reader // nil: empty. A Read must not outlast the context.
	Out      io.Writer // nil: what is printed is lost. A Write must not outlast the context.
	MaxFile  int64     // bytes of a file that it writes; 0 is Limits.File
	// CPU is what it may take of the processor, in whole seconds; 0, and what is more than Limits.CPU, is that.
	CPU time.Duration
	// AtOnce has it fail with ErrBusy where it would wait for a slot.
	AtOnce bool
	// Ended, where not nil, is called when the process has ended, before Run waits for the last Read of In.
	Ended func()
}

// Run runs a command once it has a slot, and returns when the process and all that it started have ended. It fails with an
// [*Error] when the command does, with [ErrBusy] where too much waits already, with the cause of a context that ended, or with
// the error of In or Out.
func (g *Git) Run(ctx context.Context, c Command, r Run) error {
	pool := &g.kinds[r.Kind]
	asked := time.Now()
	want := work{r.Party, r.Owner, r.Heavy}
	take := pool.slots.take
	if r.AtOnce {
		take = pool.slots.takeFree
	}
	if err := take(ctx, want); err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	pool.waited(time.Since(asked))
	defer pool.slots.give(want)
	used, err := g.start(ctx, c, r)
	pool.slots.took(want, used.cpu)
	pool.count(used, err)
	return err
}

// How much nicer processes are than this program.
const (
	niceLight = 5
	niceHeavy = 10
)

func (r Run) nicer() int {
	if r.Heavy {
		return niceHeavy
	}
	return niceLight
}

// usage is what a process took of the machine, with all that it waited for.
type usage struct {
	cpu    time.Duration
	memory int64 // bytes, at most
}

// process is one that is to run, or does.
type process struct {
	cmd    *exec.Cmd
	gate   gate
	in     input
	ended  func()   // or nil
	prints *printed // nil if nobody wants it
	out    output
	stderr *tail
}

// prepare makes a process, in a group of its own.
func (g *Git) prepare(ctx context.Context, c Command, r Run) (*process, error) {
	argv := g.argv(c, r.At)
	p := &process{
		cmd: exec.CommandContext(ctx, argv[0], argv[1:]...),
		in:  input{r: r.In}, out: output{w: r.Out}, stderr: newTail(r.At),
		ended: r.Ended,
	}
	p.cmd.Env, p.cmd.Dir = g.environ(c, r.At, r.Protocol), "/"
	p.cmd.SysProcAttr = ownGroup()
	p.cmd.Cancel = p.kill
	p.cmd.Stderr = p.stderr
	if r.In != nil {
		p.in.failed = p.kill
		p.cmd.Stdin = &p.in
	}
	var err error
	if p.gate, err = newGate(p.cmd); err == nil && r.Out != nil {
		var prints printed
		if prints, err = newPrinted(p.cmd); err != nil {
			p.gate.open()
		}
		p.prints = &prints
	}
	return p, err
}

// start starts a process, bounds it before it does anything, feeds it and reads from it at the same time, and ends all of it.
func (g *Git) start(ctx context.Context, c Command, r Run) (usage, error) {
	p, err := g.prepare(ctx, c, r)
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w", c, err)
	}
	if p.prints != nil {
		defer p.prints.close()
	}
	if err := p.cmd.Start(); err != nil {
		p.gate.open()
		return usage{}, fmt.Errorf("%s: %w", c, err)
	}
	unbounded := limit(p.cmd.Process.Pid, g.limits.of(r), r.nicer())
	if unbounded != nil {
		_ = p.kill() // the error that counts is there
	}
	p.gate.open()
	err = p.live()
	if unbounded != nil {
		err = fmt.Errorf("%s: limits: %w", c, unbounded)
	} else {
		err = p.verdict(ctx, c, err)
	}
	return used(p.cmd.ProcessState), err
}

// kill ends the process and all that it started.
func (p *process) kill() error { return killGroup(p.cmd.Process.Pid) }

// live returns when the process has ended, and all that it started.
func (p *process) live() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if awaitExit(p.cmd.Process.Pid) {
			_ = p.kill() // what it left behind, mostly nothing
		}
	}()
	if p.prints != nil {
		p.prints.started()
		if err := pass(&p.out, p.prints.read); err != nil {
			_ = p.kill()
			_, _ = io.Copy(io.Discard, p.prints.read) // up to the end of those who write
		}
	}
	<-ended
	if p.ended != nil {
		p.ended()
	}
	return p.cmd.Wait()
}

// verdict tells why the process ended as it did.
func (p *process) verdict(ctx context.Context, c Command, err error) error {
	switch {
	case ctx.Err() != nil && (err != nil || p.out.err != nil || p.in.err != nil):
		return fmt.Errorf("%s: %w", c, context.Cause(ctx))
	case p.out.err != nil:
		return fmt.Errorf("%s: write: %w", c, p.out.err)
	case p.in.err != nil:
		return fmt.Errorf("%s: read: %w", c, p.in.err)
	case err != nil:
		return ending(c, err, p.stderr)
	}
	return nil
}

// input is what the process reads. An error of the reader ends the process.
type input struct {
	r      io.Reader
	failed func() error
	err    error
}

func (i *input) Read(b []byte) (int, error) {
	n, err := i.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		i.err = err
		_ = i.failed()
	}
	return n, err
}

// output keeps the error of the writer apart from that of the pipe.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		o.err = err
	}
	return n, err
}

// used reads what a process that has ended took.
func used(state *os.ProcessState) usage {
	if state == nil {
		return usage{}
	}
	u := usage{cpu: state.UserTime() + state.SystemTime()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.memory = r.Maxrss * rssUnit
	}
	return u
}
