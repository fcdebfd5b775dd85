; What is put in line where an element is accessed (crates/runtime/src/elements/owned.rs says why it is right). The optimiser inlines it
; all; linking takes what is visible outside, and what that uses. Entering gives the word that leaving clears: the thread's hazard, or
; the element's lock; null if nothing is logged.
;
; A thread's slot begins with its hazard. An element begins with its owner and, 8 bytes in, where its last entry is.

@__unravel_av_me = external hidden thread_local(localexec) global ptr
@__unravel_av_low = external hidden global i64
@__unravel_av_span = external hidden global i64
@__unravel_av_bytes = external hidden global ptr
@__unravel_av_objects = external hidden global ptr
@__unravel_av_runs = external hidden global ptr

declare ptr @__unravel_av_enter(ptr)
declare ptr @__unravel_av_nested(ptr)
declare void @__unravel_av_enter_at(ptr, i64, i32)
declare void @__unravel_av_leave_at(ptr, i64, i32)
declare void @__unravel_av_enter_copy(ptr, ptr, i64, i32)
declare void @__unravel_av_leave_copy(ptr, ptr, i64, i32)
declare void @__unravel_av_before(i32, ptr, ptr, i32)
declare void @__unravel_av_after(i32, ptr, ptr, i32, i32)
declare void @__unravel_av_waits(i32)
declare void @__unravel_av_register(ptr)
declare i32 @pthread_mutex_trylock(ptr)
declare i32 @pthread_mutex_lock(ptr)
declare ptr @llvm.threadlocal.address.p0(ptr)

define hidden ptr @unravel.claim(ptr %element) alwaysinline {
  %place = call ptr @llvm.threadlocal.address.p0(ptr @__unravel_av_me)
  %me = load ptr, ptr %place
  %hazard = load volatile i64, ptr %me
  %idle = icmp eq i64 %hazard, 0
  br i1 %idle, label %say, label %nested, !prof !1
say:
  %address = ptrtoint ptr %element to i64
  store volatile i64 %address, ptr %me
  fence syncscope("singlethread") seq_cst
  %owner = load volatile ptr, ptr %element
  %mine = icmp eq ptr %owner, %me
  br i1 %mine, label %count, label %slow, !prof !1
count:
  %field = getelementptr i8, ptr %element, i64 8
  %at = load volatile ptr, ptr %field
  %now = load volatile i32, ptr %at
  %low = trunc i32 %now to i16
  %full = icmp eq i16 %low, -1
  br i1 %full, label %slow, label %add, !prof !0
add:
  %next = add i32 %now, 1
  store volatile i32 %next, ptr %at
  br label %out
nested:
  %locked = call ptr @__unravel_av_nested(ptr %element)
  br label %out
slow:
  %got = call ptr @__unravel_av_enter(ptr %element)
  br label %out
out:
  %token = phi ptr [ %me, %add ], [ %locked, %nested ], [ %got, %slow ]
  fence syncscope("singlethread") seq_cst
  ret ptr %token
}

define hidden void @unravel.leave(ptr %token) alwaysinline {
  fence syncscope("singlethread") seq_cst
  %none = icmp eq ptr %token, null
  br i1 %none, label %out, label %clear
clear:
  store atomic i64 0, ptr %token release, align 8
  br label %out
out:
  ret void
}

define hidden ptr @unravel.enter(ptr %flag, ptr %element) alwaysinline {
  %byte = load i8, ptr %flag
  %off = icmp eq i8 %byte, 0
  br i1 %off, label %out, label %on
on:
  %token = call ptr @unravel.claim(ptr %element)
  br label %out
out:
  %result = phi ptr [ null, %0 ], [ %token, %on ]
  ret ptr %result
}

; %unnamed: the element of memory without a name; null if there are several.
define hidden ptr @unravel.enter_at(ptr %flag, ptr %at, i64 %bytes, i32 %site, ptr %unnamed) alwaysinline {
entry:
  %byte = load i8, ptr %flag
  %off = icmp eq i8 %byte, 0
  br i1 %off, label %out, label %on
on:
  %address = ptrtoint ptr %at to i64
  %low = load i64, ptr @__unravel_av_low
  %offset = sub i64 %address, %low
  %span = load i64, ptr @__unravel_av_span
  %inside = icmp ult i64 %offset, %span
  br i1 %inside, label %named, label %nameless
named:
  %table = load ptr, ptr @__unravel_av_bytes
  %first.at = getelementptr i32, ptr %table, i64 %offset
  %first = load i32, ptr %first.at
  %more = sub i64 %bytes, 1
  %last.at = getelementptr i32, ptr %first.at, i64 %more
  %last = load i32, ptr %last.at
  %one = icmp eq i32 %first, %last
  br i1 %one, label %known, label %many, !prof !1
known:
  %nothing = icmp eq i32 %first, 0
  br i1 %nothing, label %out, label %found
found:
  %runs = load ptr, ptr @__unravel_av_runs
  %index = zext i32 %first to i64
  %run.at = getelementptr ptr, ptr %runs, i64 %index
  %run = load ptr, ptr %run.at
  br label %claim
nameless:
  %bit = and i8 %byte, 2
  %unlogged = icmp eq i8 %bit, 0
  br i1 %unlogged, label %out, label %is
is:
  %several = icmp eq ptr %unnamed, null
  br i1 %several, label %many, label %claim
claim:
  %element = phi ptr [ %run, %found ], [ %unnamed, %is ]
  %token = call ptr @unravel.claim(ptr %element)
  br label %out
many:
  call void @__unravel_av_enter_at(ptr %at, i64 %bytes, i32 %site)
  br label %out
out:
  %result = phi ptr [ null, %entry ], [ null, %known ], [ null, %nameless ], [ %token, %claim ], [ inttoptr (i64 1 to ptr), %many ]
  ret ptr %result
}

define hidden void @unravel.leave_at(ptr %token, ptr %at, i64 %bytes, i32 %site) alwaysinline {
  %many = icmp eq ptr %token, inttoptr (i64 1 to ptr)
  br i1 %many, label %all, label %one, !prof !0
all:
  fence syncscope("singlethread") seq_cst
  call void @__unravel_av_leave_at(ptr %at, i64 %bytes, i32 %site)
  br label %out
one:
  call void @unravel.leave(ptr %token)
  br label %out
out:
  ret void
}

; All that is touched, locked together.
define hidden void @unravel.enter_all(ptr %flag, ptr %at, i64 %bytes, i32 %site) alwaysinline {
  %byte = load i8, ptr %flag
  %off = icmp eq i8 %byte, 0
  br i1 %off, label %out, label %on
on:
  call void @__unravel_av_enter_at(ptr %at, i64 %bytes, i32 %site)
  br label %out
out:
  ret void
}

define hidden void @unravel.leave_all(ptr %flag, ptr %at, i64 %bytes, i32 %site) alwaysinline {
  %byte = load i8, ptr %flag
  %off = icmp eq i8 %byte, 0
  br i1 %off, label %out, label %on
on:
  call void @__unravel_av_leave_at(ptr %at, i64 %bytes, i32 %site)
  br label %out
out:
  ret void
}

define hidden void @unravel.enter_copy(ptr %flag, ptr %from, ptr %to, i64 %bytes, i32 %site) alwaysinline {
  %byte = load i8, ptr %flag
  %off = icmp eq i8 %byte, 0
  br i1 %off, label %out, label %on
on:
  call void @__unravel_av_enter_copy(ptr %from, ptr %to, i64 %bytes, i32 %site)
  br label %out
out:
  ret void
}

define hidden void @unravel.leave_copy(ptr %flag, ptr %from, ptr %to, i64 %bytes, i32 %site) alwaysinline {
  %byte = load i8, ptr %flag
  %off = icmp eq i8 %byte, 0
  br i1 %off, label %out, label %on
on:
  call void @__unravel_av_leave_copy(ptr %from, ptr %to, i64 %bytes, i32 %site)
  br label %out
out:
  ret void
}

; Takes a mutex: only who has to wait says where. 16 is EBUSY, which nothing but a mutex that is taken gives.
define hidden i32 @unravel.lock(ptr %mutex, i32 %place) alwaysinline {
  %tried = call i32 @pthread_mutex_trylock(ptr %mutex)
  %busy = icmp eq i32 %tried, 16
  br i1 %busy, label %wait, label %out, !prof !0
wait:
  call void @__unravel_av_waits(i32 %place)
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  call void @__unravel_av_waits(i32 0)
  br label %out
out:
  %result = phi i32 [ %tried, %0 ], [ %locked, %wait ]
  ret i32 %result
}

; The thread has got a mutex, which is an element: its entry. 130 is EOWNERDEAD. A recursive one may have been its own before.
define hidden void @unravel.got(ptr %flag, ptr %element, i32 %what, ptr %mutex, i32 %site, i32 %result) alwaysinline {
  %byte = load i8, ptr %flag
  %off = icmp eq i8 %byte, 0
  br i1 %off, label %out, label %on
on:
  %done = icmp eq i32 %result, 0
  br i1 %done, label %look, label %odd, !prof !1
odd:
  %dead = icmp eq i32 %result, 130
  br i1 %dead, label %look, label %out
look:
  %kind.at = getelementptr i8, ptr %mutex, i64 16
  %kind = load i32, ptr %kind.at
  %low = and i32 %kind, 3
  %recursive = icmp eq i32 %low, 1
  br i1 %recursive, label %ask, label %plain, !prof !0
ask:
  call void @__unravel_av_after(i32 %what, ptr %mutex, ptr null, i32 %site, i32 %result)
  br label %out
plain:
  %token = call ptr @unravel.claim(ptr %element)
  call void @unravel.leave(ptr %token)
  br label %out
out:
  ret void
}

; The same where only the address tells which element the mutex is. %unnamed: as above.
define hidden void @unravel.got_at(ptr %flag, ptr %unnamed, i32 %what, ptr %mutex, i32 %site, i32 %result) alwaysinline {
entry:
  %byte = load i8, ptr %flag
  %off = icmp eq i8 %byte, 0
  br i1 %off, label %out, label %on
on:
  %address = ptrtoint ptr %mutex to i64
  %low = load i64, ptr @__unravel_av_low
  %offset = sub i64 %address, %low
  %span = load i64, ptr @__unravel_av_span
  %inside = icmp ult i64 %offset, %span
  br i1 %inside, label %named, label %nameless
named:
  %table = load ptr, ptr @__unravel_av_objects
  %unsure = icmp eq ptr %table, null
  br i1 %unsure, label %ask, label %look, !prof !0
look:
  %number.at = getelementptr i32, ptr %table, i64 %offset
  %number = load i32, ptr %number.at
  %nothing = icmp eq i32 %number, 0
  br i1 %nothing, label %out, label %found
found:
  %runs = load ptr, ptr @__unravel_av_runs
  %index = zext i32 %number to i64
  %run.at = getelementptr ptr, ptr %runs, i64 %index
  %run = load ptr, ptr %run.at
  br label %got
nameless:
  %bit = and i8 %byte, 2
  %unlogged = icmp eq i8 %bit, 0
  br i1 %unlogged, label %out, label %is
is:
  %several = icmp eq ptr %unnamed, null
  br i1 %several, label %ask, label %got
got:
  %element = phi ptr [ %run, %found ], [ %unnamed, %is ]
  call void @unravel.got(ptr %flag, ptr %element, i32 %what, ptr %mutex, i32 %site, i32 %result)
  br label %out
ask:
  call void @__unravel_av_after(i32 %what, ptr %mutex, ptr null, i32 %site, i32 %result)
  br label %out
out:
  ret void
}

define hidden void @unravel.declares() {
  call void @__unravel_av_before(i32 0, ptr null, ptr null, i32 0)
  call void @__unravel_av_after(i32 0, ptr null, ptr null, i32 0, i32 0)
  call void @__unravel_av_register(ptr null)
  ret void
}
!0 = !{!"branch_weights", i32 1, i32 2000}
!1 = !{!"branch_weights", i32 2000, i32 1}
