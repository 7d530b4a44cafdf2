package benchmark

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// statements counts what is sent to the server, but for the brackets around
// transactions.
type statements struct{ n atomic.Int64 }

var (
	_ pgx.QueryTracer    = (*statements)(nil)
	_ pgx.BatchTracer    = (*statements)(nil)
	_ pgx.CopyFromTracer = (*statements)(nil)
)

func (s *statements) count(sql string) {
	verb, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(sql)), " ")
	switch strings.TrimSuffix(verb, ";") {
	case "begin", "commit", "rollback":
	default:
		s.n.Add(1)
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.count(q.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	s.count(q.SQL)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceCopyFromStart implements pgx.CopyFromTracer.
func (s *statements) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	s.n.Add(1)
	return ctx
}

// TraceCopyFromEnd implements pgx.CopyFromTracer.
func (s *statements) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}
