package vendor

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"payrollgateway/internal/payroll"
)

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	chunk := chunkOf(1)
	padding := strings.Repeat(" ", MaxAnswer)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write([]byte(itemsOf(chunk, 201)))
	for range 4 {
		_, _ = z.Write([]byte(padding))
	}
	_ = z.Close()
	for name, answer := range map[string]string{
		"long":      whole("200 OK", itemsOf(chunk, 201)+padding),
		"gzip bomb": whole("200 OK", bomb.String(), "Content-Encoding: gzip"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRawVendor(t, func(v *visitor) { v.say(answer) })
			c := clientOf(t, s.profile())
			x := submit(t, c, chunk)
			if !x.Truncated || !errors.Is(x.Err, ErrTooLong) || len(x.Body) != MaxAnswer {
				t.Errorf("%d bytes, truncated %v, %v", len(x.Body), x.Truncated, x.Err)
			}
			if v := c.profile.Judge(chunk, x).Lines[0]; v.Verdict != payroll.VerdictUnknown {
				t.Errorf("%+v", v)
			}
			submit(t, c, chunk)
			if s.connections() != 2 {
				t.Error("a connection with an unread answer was used again")
			}
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) {
		v.say("HTTP/1.1 200 OK\r\n")
		for range 1024 {
			v.say("X-Padding: " + strings.Repeat("x", 1024) + "\r\n")
		}
		v.say("Content-Length: 2\r\n\r\n{}")
	})
	c := clientOf(t, s.profile())
	if x := submit(t, c, chunkOf(1)); x.Err == nil || x.Sent != MaybeSent || x.Status != 0 {
		t.Errorf("%+v", x)
	}
}

// E26: an answer that is compressed although it does not say so is no answer;
// one that says so is read.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	chunk := chunkOf(1)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(itemsOf(chunk, 201)))
	_ = z.Close()
	for name, tt := range map[string]struct {
		answer string
		want   payroll.Verdict
	}{
		"named":         {whole("200 OK", packed.String(), "Content-Encoding: gzip"), payroll.VerdictSettled},
		"unnamed":       {whole("200 OK", packed.String()), payroll.VerdictUnknown},
		"named wrongly": {whole("200 OK", itemsOf(chunk, 201), "Content-Encoding: gzip"), payroll.VerdictUnknown},
		"another one":   {whole("200 OK", packed.String(), "Content-Encoding: br"), payroll.VerdictUnknown},
		"cut":           {whole("200 OK", packed.String()[:packed.Len()-1], "Content-Encoding: gzip"), payroll.VerdictUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRawVendor(t, func(v *visitor) { v.say(tt.answer) })
			c := clientOf(t, s.profile())
			if v := c.profile.Judge(chunk, submit(t, c, chunk)).Lines[0]; v.Verdict != tt.want {
				t.Errorf("%+v", v)
			}
		})
	}
}
