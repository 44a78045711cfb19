import numpy as np
def load(f):
    a=np.loadtxt(f); return a[:,0],a[:,1]
out=[]
for f in ['r0.txt','r1.txt']:
    t,d=load(f); 
    print(f,'n',len(d),'mean ms %.3f sd%% %.1f'%(d.mean()*1e3,100*d.std()/d.mean()))
    # block means by window
    w=t//0.02; m=np.array([d[w==i].mean() for i in np.unique(w)])
    for lag in [1,2,5,10,20,50,100]:
        x=m-m.mean(); print('  lag %.2f s corr %.2f'%(lag*0.02,(x[:-lag]*x[lag:]).mean()/x.var()),end='')
    print('  sd of 20ms means %.1f %%'%(100*m.std()/m.mean()))
    out.append((t,d))
# work clock: cumulative work units vs time
def sched(t,d,start,shapes,laps,turns,rev):
    # shapes: units of work a lap; returns mean time per unit for each shape
    i=start; res=np.zeros(len(shapes)); n=np.zeros(len(shapes))
    for turn in range(turns):
        order=range(len(shapes)) if not(rev and turn%2) else range(len(shapes)-1,-1,-1)
        for s in order:
            for l in range(laps[s]):
                k=shapes[s]
                if i+k>=len(d): return None,None
                res[s]+=d[i:i+k].sum()/k; n[s]+=1; i+=k
    return res/n,i-start
rng=np.random.default_rng(1)
for unit_ms,name in [(0.5,'fast'),]:
  t,d=out[0]; dm=d.mean()*1e3
  for lap_ms in [4,8,16,30]:
    shapes=[max(1,int(round(x*lap_ms/dm))) for x in (0.25,0.5,1,1.5,2,1)]
    lapt=np.array(shapes)*dm/1e3
    for label,visit,total,rev in [('old 60ms x5',0.06,0.3,False),('old rev',0.06,0.3,True),('fine',max(0.02,lapt.max()),0.3,False),('fine rev',max(0.02,lapt.max()),0.3,True)]:
        laps=[max(1,int(np.ceil(visit/x))) for x in lapt]; turns=int(round(total/min(visit,0.06)))
        e=[]; wk=[]
        for r in range(400):
            m,w=sched(t,d,rng.integers(0,len(d)//2),shapes,laps,turns,rev)
            if m is None: continue
            e.append(np.log(m/m.mean()).std()); wk.append(w*dm/1e3)
        print('lap %d ms %-12s turns %d rms spread %.2f %% time %.2f s (%d)'%(lap_ms,label,turns,100*np.sqrt(np.mean(np.square(e))),np.mean(wk),len(e)))
