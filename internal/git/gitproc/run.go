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
	Party    string // who has the work done, for turns; "" is graspd itself, whose work always gets a place to wait
	Owner    string // who the work is for, or the repository that a Fetch reads; it decides between parties that have as many slots and took as much; "" is nobody
	Heavy    bool   // the work may take seconds of the processor, and must leave slots for light work
	Long     bool   // the work may take more than some milliseconds, and must leave the slot that is kept for who has little
	At       Dirs
	Protocol int       // 1 or 2 of git's protocol; else 0
	In       io.Reader // nil is empty. A Read must not outlast the context.
	Out      io.Writer // nil drops what git prints. A Write must not outlast the context.
	MaxFile  int64     // bytes of a file that git writes; 0 is Limits.File
	// Reads is how many bytes the packs have that it reads: memory goes by that, the processor time of a Fetch, and how long it is left alone while
	// others wait. Greedy gets it the most memory that one may have.
	Reads  int64
	Greedy bool
	// CPU is how much processor time it may take, in whole seconds. 0, and anything above Limits.CPU, is Limits.CPU.
	CPU time.Duration
	// AtOnce has Run fail with ErrBusy where it would have to wait for a slot.
	AtOnce bool
	// Prompt has Out get each piece as soon as git prints it, for who asks the next question then. Without it small pieces are gathered.
	Prompt bool
	// Run calls Began, where it is not nil, when the wait for a slot and for memory is over.
	Began func()
	// Run calls Ended, where it is not nil, when the process has ended, before it waits for the last Read of In.
	Ended func()
}

// Run waits for a slot, runs a command, and returns when the process and everything that it started have ended. It fails with an [*Error]
// when the command fails, with [ErrBusy], with the cause of a context that ended, or with the error of In or Out.
func (g *Git) Run(ctx context.Context, c Command, r Run) error {
	pool := &g.kinds[r.Kind]
	asked := time.Now()
	memory, err := g.admit(ctx, c, r)
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	pool.waited(time.Since(asked))
	if r.Began != nil {
		r.Began()
	}
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	memory.RevocableFor(usualTime(r.Reads), func() { kill(ErrGaveWay) })
	ended := pool.slots.runs(r.work(), usualTime(r.Reads), kill)
	defer func() {
		memory.release()
		pool.slots.give(r.work())
		ended() // not before: until the slot is given back nobody else gives way for it
	}()
	used, err := g.start(ctx, c, r, memory.each)
	pool.slots.took(r.work(), used.cpu)
	pool.count(used, err)
	return err
}

func (r Run) work() work { return work{r.Party, r.Owner, r.Heavy, r.Long} }

// admit waits until a run has a slot and its memory, for no longer than admitWait unless it is our own. Who waits for memory has no slot, which others
// could use. Who has memory waits for a slot with it: those with a slot never wait for memory, so they come to an end. Where others need that memory
// first, the run waits for both again.
func (g *Git) admit(ctx context.Context, c Command, r Run) (share, error) {
	if r.Party != "" {
		late, stop := context.WithTimeoutCause(ctx, admitWait, fmt.Errorf("%w: it waited for %s", ErrBusy, admitWait))
		defer stop()
		ctx = late
	}
	slots := g.kinds[r.Kind].slots
	take := slots.take
	if r.AtOnce {
		take = slots.takeFree
	}
	if err := take(ctx, r.work()); err != nil {
		return share{}, err
	}
	memory, err := g.memory.try(c, r)
	if err == nil {
		return memory, nil
	}
	slots.give(r.work())
	for {
		if memory, err = g.memory.take(ctx, c, r); err != nil {
			return share{}, err
		}
		err = memory.join(ctx, slots, take, r.work())
		if err == nil {
			return memory, nil
		}
		memory.release()
		if !errors.Is(err, ErrGaveWay) {
			return share{}, err
		}
	}
}

// join waits for a slot with the memory that it has. It fails with ErrGaveWay where others need that first.
func (s share) join(ctx context.Context, slots *slots, take func(context.Context, work) error, w work) error {
	waits, revoke := context.WithCancelCause(ctx)
	defer revoke(nil)
	s.RevocableFor(patience, func() { revoke(ErrGaveWay) })
	err := take(waits, w)
	if err == nil && waits.Err() != nil {
		slots.give(w)
		err = context.Cause(waits)
	}
	return err
}

// How much nicer processes are than this program. Light work, for which somebody waits, is none of the two.
const (
	niceLong  = 10
	niceHeavy = 15
)

func (r Run) nicer() int {
	switch {
	case r.Heavy:
		return niceHeavy
	case r.Long:
		return niceLong
	}
	return 0
}

// usage is what a process took of the machine, together with the processes that it waited for.
type usage struct {
	cpu    time.Duration
	memory int64 // bytes, at the most
}

// process is a process that will run, or runs.
type process struct {
	cmd    *exec.Cmd
	gate   gate
	in     input
	ended  func()   // may be nil
	prints *printed // nil where nobody wants what it prints
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
		prints.prompt = r.Prompt
		p.prints = &prints
	}
	return p, err
}

// start starts a process, limits it before it does anything, to so many bytes of memory of its own too, feeds it and reads from it at the same time, and returns what it took when it
// and everything that it started have ended.
func (g *Git) start(ctx context.Context, c Command, r Run, memory int64) (usage, error) {
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
	unbounded := limit(p.cmd.Process.Pid, g.limits.of(r), memory, r.nicer())
	if unbounded != nil {
		_ = p.kill() // unbounded is the error that counts
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

// kill ends the process and everything that it started.
func (p *process) kill() error { return killGroup(p.cmd.Process.Pid) }

// live passes on what the process prints, and returns when the process and everything that it started have ended.
func (p *process) live() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if awaitExit(p.cmd.Process.Pid) {
			_ = p.kill() // ends what the process has left behind, mostly nothing
		}
	}()
	if p.prints != nil {
		p.prints.started()
		if err := pass(&p.out, *p.prints); err != nil {
			_ = p.kill()
			_, _ = io.Copy(io.Discard, p.prints.read) // until the last process that writes has ended
		}
	}
	<-ended
	if p.ended != nil {
		p.ended()
	}
	return p.cmd.Wait()
}

// verdict returns the error of a run: that of the context, the writer, the reader or the process, in that order.
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

// input feeds the process. An error of the reader ends the process.
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

// used returns what a process that has ended took.
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
