/* libpq.h - libpq's functions under their own names, from the library that is opened with the first
 * PostgreSQL store (base/library.h). To be included in place of <libpq-fe.h>. */
#ifndef TOKGRID_STORE_LIBPQ_H
#define TOKGRID_STORE_LIBPQ_H

#include <libpq-fe.h>

#include "base/err.h"

#define LIBPQ_CALLS(X)                                                                             \
    X(clear)                                                                                       \
    X(cmdTuples)                                                                                   \
    X(connectdbParams)                                                                             \
    X(consumeInput)                                                                                \
    X(errorMessage)                                                                                \
    X(exec)                                                                                        \
    X(execPrepared)                                                                                \
    X(finish)                                                                                      \
    X(ftype)                                                                                       \
    X(getisnull)                                                                                   \
    X(getlength)                                                                                   \
    X(getvalue)                                                                                    \
    X(ntuples)                                                                                     \
    X(prepare)                                                                                     \
    X(reset)                                                                                       \
    X(resultErrorField)                                                                            \
    X(resultStatus)                                                                                \
    X(serverVersion)                                                                               \
    X(setNoticeReceiver)                                                                           \
    X(socket)                                                                                      \
    X(status)

struct libpq {
#define LIBPQ_MEMBER(call) __typeof__(PQ##call) *(call);
    LIBPQ_CALLS(LIBPQ_MEMBER)
#undef LIBPQ_MEMBER
};
extern struct libpq libpq;

/* Open it, once a process, from any thread; the calls work from then on. Fails where it is
 * not installed. */
bool libpq_open(struct err *err) ATTR_CHECK;

#define PQclear             libpq.clear
#define PQcmdTuples         libpq.cmdTuples
#define PQconnectdbParams   libpq.connectdbParams
#define PQconsumeInput      libpq.consumeInput
#define PQerrorMessage      libpq.errorMessage
#define PQexec              libpq.exec
#define PQexecPrepared      libpq.execPrepared
#define PQfinish            libpq.finish
#define PQftype             libpq.ftype
#define PQgetisnull         libpq.getisnull
#define PQgetlength         libpq.getlength
#define PQgetvalue          libpq.getvalue
#define PQntuples           libpq.ntuples
#define PQprepare           libpq.prepare
#define PQreset             libpq.reset
#define PQresultErrorField  libpq.resultErrorField
#define PQresultStatus      libpq.resultStatus
#define PQserverVersion     libpq.serverVersion
#define PQsetNoticeReceiver libpq.setNoticeReceiver
#define PQsocket            libpq.socket
#define PQstatus            libpq.status

#endif
