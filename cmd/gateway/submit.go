package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"payrollgateway/internal/httpapi/apigen"
)

// mediaTypes are the formats of a submission by the end of a file's name.
var mediaTypes = map[string]string{
	"json": "application/json", "ndjson": "application/x-ndjson", "jsonl": "application/x-ndjson", "csv": "text/csv",
}

// upload is a file on its way to the gateway.
type upload struct {
	format, gzip string // as flags gave them
	strict       bool
	envelope     map[string]*string // by query parameter
}

// envelopeFlags are the flags of the envelope, by query parameter.
var envelopeFlags = []struct{ parameter, flag, usage string }{
	{"vendor", "vendor", "vendor that pays"},
	{"pay_period_id", "period", "pay period"},
	{"run_attempt_group", "run", "pay run; with the period it names the batch"},
	{"currency", "currency", "ISO 4217"},
	{"pay_date", "pay-date", "such as 2026-07-17"},
	{"cutoff_at", "cutoff", "nothing is sent after it, such as 2026-07-16T18:00:00-04:00"},
	{"control_totals.lines", "control-lines", "how many lines the file has"},
	{"control_totals.gross_pay", "control-gross", "what they come to"},
}

func submitCommand(env Env) *cobra.Command {
	var u upload
	var out output
	var follow bool
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "Post a pay run: JSON, NDJSON or CSV, each also as .gz; - reads standard input",
		Long: "Posts a pay run and prints its batch key. The envelope of a JSON file is in the file; that of NDJSON and CSV\n" +
			"is given by flags. Posting the same content again is safe: it is one batch, however often it is posted.",
		Example: "  gateway submit payroll.csv --vendor sandbox --period 2026-W28 --run 1 --currency USD --watch",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newAPI(env.Getenv, forTenant)
			if err != nil {
				return err
			}
			b, err := u.post(cmd.Context(), a, &out, args[0], env.Stdin)
			if err != nil || !follow {
				return err
			}
			return watch(cmd.Context(), a, &out, b.BatchKey)
		},
	}
	u.define(cmd)
	cmd.Flags().BoolVar(&follow, "watch", false, "follow the batch until it is at rest")
	out.define(cmd, env)
	return cmd
}

func (u *upload) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&u.format, "format", "", "json, ndjson or csv (default: by the file's name)")
	cmd.Flags().StringVar(&u.gzip, "gzip", "", "the file is compressed (default: by the file's name)")
	cmd.Flags().Lookup("gzip").NoOptDefVal = "yes"
	cmd.Flags().BoolVar(&u.strict, "strict", false, "refuse the whole batch for one wrong row")
	u.envelope = map[string]*string{}
	for _, f := range envelopeFlags {
		u.envelope[f.parameter] = cmd.Flags().String(f.flag, "", f.usage)
	}
}

// media is what the body of a file is, by flag or by name.
func (u *upload) media(file string) (contentType, encoding string, err error) {
	name, zipped := strings.CutSuffix(strings.ToLower(file), ".gz")
	if zipped || u.gzip == "yes" {
		encoding = "gzip"
	}
	format := u.format
	if format == "" {
		format = strings.TrimPrefix(filepath.Ext(name), ".")
	}
	contentType, known := mediaTypes[format]
	if !known {
		return "", "", errors.New("--format: say json, ndjson or csv; the file's name does not")
	}
	return contentType, encoding, nil
}

// post sends the file and shows what became of it.
func (u *upload) post(ctx context.Context, a *api, out *output, file string, stdin io.Reader) (apigen.Batch, error) {
	var b apigen.Batch
	c, err := u.call(file)
	if err != nil {
		return b, err
	}
	c.body = io.NopCloser(stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return b, err
		}
		defer func() { _ = f.Close() }()
		c.body = f
	}
	got, err := a.do(ctx, c, &b)
	switch {
	case err != nil:
		return b, err
	case out.json():
		return b, out.raw(got)
	}
	describeAccepted(out, b, got.status == http.StatusOK)
	return b, nil
}

// call is the request without its body.
func (u *upload) call(file string) (call, error) {
	contentType, encoding, err := u.media(file)
	if err != nil {
		return call{}, err
	}
	header := http.Header{"Content-Type": {contentType}}
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
	}
	if u.strict {
		header.Set("Prefer", "handling=strict")
	}
	query := url.Values{}
	for parameter, value := range u.envelope {
		if *value != "" {
			query.Set(parameter, *value)
		}
	}
	path := "/v1/batches"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return call{method: http.MethodPost, path: path, header: header, within: uploadWithin}, nil
}

// shownRows bounds how many refused rows a terminal shows.
const shownRows = 20

func describeAccepted(out *output, b apigen.Batch, replayed bool) {
	if replayed {
		out.printf("The same content was posted before; nothing new was stored.\n")
	}
	out.printf("%s: %s lines", b.BatchKey, groupedInt(b.Total))
	if dead := b.Counts.DeadLettered; dead > 0 {
		out.printf(", %s of them dead letters", groupedInt(dead))
	}
	out.printf("\n")
	if b.Rejected == nil {
		return
	}
	for i, r := range *b.Rejected {
		if i == shownRows {
			out.printf("  … and %s more refused rows\n", groupedInt(b.RejectedTotal-shownRows))
			break
		}
		out.printf("  row %s refused: %s: %s\n", fmt.Sprint(r.Ordinal), r.ReasonCode, r.Detail)
	}
}
