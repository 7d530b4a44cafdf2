package sandbox

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// deliver answers, or spoils the answer as the fault asks. Nothing is said
// before the journal is on disk. cut in [0, 1) places a truncation.
func (v *visit) deliver(a answer, f Fault, cut float64) {
	if v.s.journal.Sync(v.mark) != nil {
		v.breakDown()
		return
	}
	if f.Kind == KindTimeout {
		v.linger(v.s.cfg.MaxHold)
	}
	if f == (Fault{Kind: KindSlow, Stage: AfterCommit}) && !v.pause(v.slowFor()) {
		v.abort()
	}
	v.leave()
	v.allowWriting()
	if spoil, named := spoilers[f.Kind]; named {
		spoil(v, a, f, cut)
		return
	}
	a.write(v.w)
}

// allowWriting gives a slow reader its time, from now on. A connection keeps its
// deadline from one answer to the next, so each answer sets its own.
func (v *visit) allowWriting() {
	deadline := time.Now().Add(v.s.cfg.MaxHold + 30*time.Second)
	_ = http.NewResponseController(v.w).SetWriteDeadline(deadline)
}

// spoilers send something else than the answer, or a part of it.
var spoilers = map[Kind]func(v *visit, a answer, f Fault, cut float64){
	KindStatus:            (*visit).sendStatus,
	KindReset:             func(v *visit, _ answer, _ Fault, _ float64) { v.reset() },
	KindTimeout:           func(v *visit, _ answer, _ Fault, _ float64) { v.reset() },
	KindClose:             func(v *visit, _ answer, _ Fault, _ float64) { v.sendRaw("") },
	KindCloseAfterHeaders: func(v *visit, _ answer, _ Fault, _ float64) { v.sendRaw(head("Content-Length: 1024")) },
	KindTruncate: func(v *visit, a answer, _ Fault, cut float64) {
		v.sendRaw(head("Content-Length: "+strconv.Itoa(len(a.body))) + v.firstPart(a, cut))
	},
	KindTruncateChunked: func(v *visit, a answer, _ Fault, cut float64) {
		v.sendRaw(head("Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n", len(a.body)) + v.firstPart(a, cut))
	},
	KindTruncateClose: func(v *visit, a answer, _ Fault, cut float64) {
		v.sendRaw(head("Connection: close") + v.firstPart(a, cut))
	},
	KindErrorBody: func(v *visit, _ answer, f Fault, _ float64) {
		problem(http.StatusOK, "internal", "as asked: "+f.String()).write(v.w)
	},
	KindHTML: func(v *visit, _ answer, _ Fault, _ float64) {
		page := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
		answer{http.StatusOK, page, []byte("<!doctype html><title>Maintenance</title><p>Back soon.\n")}.write(v.w)
	},
	KindDrip: func(v *visit, a answer, _ Fault, _ float64) { v.drip(a) },
	KindGzipBomb: func(v *visit, _ answer, _ Fault, _ float64) {
		bomb := jsonAnswer(http.StatusOK, gzipBomb())
		bomb.header.Set("Content-Encoding", "gzip")
		bomb.write(v.w)
	},
	KindTwoValues: func(v *visit, a answer, _ Fault, _ float64) {
		jsonAnswer(a.status, append(bytes.Clone(a.body), `{"results":[]}`...)).write(v.w)
	},
}

func (v *visit) sendStatus(_ answer, f Fault, _ float64) {
	a := problem(f.Status, "as_asked", f.String())
	if hinted(f.Status) && !f.NoHint {
		a = a.withHint(v.s.cfg.RetryAfter)
	}
	if f.Status/100 == 3 {
		a.header.Set("Location", "/elsewhere")
	}
	a.write(v.w)
}

// head is the beginning of a 200 with one header about its framing.
func head(framing string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + framing + "\r\n\r\n"
}

// firstPart is the body up to the configured byte, or to a drawn one that is
// neither its first nor its last.
func (v *visit) firstPart(a answer, cut float64) string {
	n := v.s.cfg.TruncateAt
	if n == 0 {
		n = 1 + int(cut*float64(len(a.body)-1))
	}
	return string(a.body[:min(n, len(a.body))])
}

// sendRaw writes bytes to the bare connection and closes it.
func (v *visit) sendRaw(text string) {
	conn := v.hijack()
	_, _ = conn.Write([]byte(text))
	_ = conn.Close()
}

// reset closes the connection so that the caller sees a reset, not an end.
func (v *visit) reset() {
	conn := v.hijack()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (v *visit) hijack() net.Conn {
	conn, _, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		v.abort()
	}
	return conn
}

// drip sends the answer byte by byte, and breaks off at MaxHold.
func (v *visit) drip(a answer) {
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	for name, values := range a.header {
		v.w.Header()[name] = values
	}
	v.w.WriteHeader(a.status)
	flush := http.NewResponseController(v.w).Flush
	spent := time.Duration(0)
	for i := range a.body {
		if _, err := v.w.Write(a.body[i : i+1]); err != nil || flush() != nil {
			return
		}
		if spent += v.s.cfg.DripEvery; spent > v.s.cfg.MaxHold || !v.linger(v.s.cfg.DripEvery) {
			v.abort()
		}
	}
}

// bombSize is what the gzip bomb unpacks to.
const bombSize = 128 << 20

// gzipBomb is a JSON answer of about 128 KiB that unpacks to bombSize of spaces.
var gzipBomb = sync.OnceValue(func() []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(`{"results":[`))
	spaces := bytes.Repeat([]byte{' '}, 1<<20)
	for range bombSize / len(spaces) {
		_, _ = w.Write(spaces)
	}
	_, _ = w.Write([]byte(`]}`))
	_ = w.Close()
	return packed.Bytes()
})

// abort drops the connection; net/http knows this panic and stays silent.
func (v *visit) abort() {
	v.leave()
	panic(http.ErrAbortHandler)
}

// breakDown is for a journal that failed: the vendor may have paid and cannot
// prove it, so it says nothing and ends.
func (v *visit) breakDown() {
	v.s.fail()
	v.abort()
}
