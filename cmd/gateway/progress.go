package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"payrollgateway/internal/httpapi/apigen"
)

// progress shows a batch on its way: bars on a terminal, a line now and then
// elsewhere, nothing for programs.
type progress interface {
	show(b apigen.Batch)
	away() // the gateway does not answer
	end()
}

func (o *output) progress() progress {
	if o.json() {
		return hidden{}
	}
	if width, ok := terminal(o.w); ok {
		return newBars(o.w, width)
	}
	return &ticks{w: o.w, every: 5 * time.Second}
}

type hidden struct{}

func (hidden) show(apigen.Batch) {}
func (hidden) away()             {}
func (hidden) end()              {}

// ticks prints a line when the last one is old, and the last of all.
type ticks struct {
	w       io.Writer
	every   time.Duration
	printed time.Time
	behind  string // the newest line, where it was not printed
	gone    bool
}

func (t *ticks) show(b apigen.Batch) {
	t.gone = false
	t.behind = fmt.Sprintf("%s of %s lines ended: %s", right(groupedInt(ended(b)), 11), groupedInt(b.Total), describeCounts(b))
	if time.Since(t.printed) >= t.every {
		t.flush()
	}
}

func (t *ticks) flush() {
	if t.behind != "" {
		fmt.Fprintln(t.w, t.behind)
		t.printed, t.behind = time.Now(), ""
	}
}

func (t *ticks) away() {
	if !t.gone {
		t.gone = true
		fmt.Fprintln(t.w, "the gateway does not answer; waiting for it")
	}
}

func (t *ticks) end() { t.flush() }

// bars is one bar of lines that have ended, with what the others are at.
type bars struct {
	all  *mpb.Progress
	bar  *mpb.Bar
	note chan string // the newest note; never more than one
	text string
	full bool // every line has ended
}

func newBars(w io.Writer, width int) *bars {
	b := &bars{note: make(chan string, 1)}
	b.all = mpb.New(mpb.WithOutput(w), mpb.WithWidth(min(width, 140)), mpb.WithRefreshRate(120*time.Millisecond))
	b.bar = b.all.New(0, mpb.BarStyle().Lbound("▕").Filler("█").Tip("█").Padding("░").Rbound("▏"),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d lines ", decor.WC{W: 24})),
		mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Elapsed(decor.ET_STYLE_MMSS, decor.WC{W: 7})),
		mpb.BarExtender(mpb.BarFillerFunc(b.fillNote), false))
	return b
}

// fillNote is the line below the bar.
func (b *bars) fillNote(w io.Writer, s decor.Statistics) error {
	select {
	case b.text = <-b.note:
	default:
	}
	line := "  " + b.text
	if runes := []rune(line); len(runes) > s.AvailableWidth && s.AvailableWidth > 0 {
		line = string(runes[:s.AvailableWidth])
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

func (b *bars) tell(note string) {
	select {
	case <-b.note:
	default:
	}
	b.note <- note
}

func (b *bars) show(batch apigen.Batch) {
	b.full = ended(batch) == batch.Total
	b.tell(describeCounts(batch))
	b.bar.SetTotal(int64(batch.Total), false)
	b.bar.SetCurrent(int64(ended(batch)))
}

func (b *bars) away() { b.tell("the gateway does not answer; waiting for it") }

func (b *bars) end() {
	if b.full {
		b.bar.SetTotal(-1, true)
	} else {
		b.bar.Abort(false) // leaves the bar as it stands
	}
	b.all.Wait()
}

func ended(b apigen.Batch) int {
	c := b.Counts
	return c.Settled + c.DeadLettered + c.Cancelled + c.Superseded
}

// describeCounts names what lines are at, leaving out what none is.
func describeCounts(b apigen.Batch) string {
	c := b.Counts
	var parts []string
	for _, p := range []struct {
		name string
		n    int
	}{
		{"settled", c.Settled},
		{"dead letters", c.DeadLettered},
		{"cancelled", c.Cancelled},
		{"superseded", c.Superseded},
		{"pending", c.Pending},
		{"in flight", c.InFlight},
		{"retrying", c.Retrying},
		{"unknown", c.Unknown},
	} {
		if p.n > 0 {
			parts = append(parts, groupedInt(p.n)+" "+p.name)
		}
	}
	text := strings.Join(parts, ", ")
	switch {
	case b.HoldReason != "":
		text += fmt.Sprintf(" (%s: %s)", strings.ReplaceAll(string(b.State), "_", " "), b.HoldReason)
	case b.State == apigen.BatchStateQueued, b.State == apigen.BatchStateWaiting, b.State == apigen.BatchStateSuspended:
		text += fmt.Sprintf(" (%s)", b.State)
	}
	return text
}
