use midpath_core::node::*; use midpath_core::packet::*; use midpath_core::queue::*; use midpath_core::roles::*; use midpath_core::units::*; use midpath_core::rng::*;
use midpath_sim::engine::*; use std::sync::Arc;
struct Cbr{n:u64,gap:Time,dst:NodeId} impl Endpoint for Cbr{
 fn on_start(&mut self,c:&mut EndpointCtx<'_>){self.on_timer(c)}
 fn on_packet(&mut self,_:&Packet,_:&mut EndpointCtx<'_>){}
 fn on_timer(&mut self,c:&mut EndpointCtx<'_>){ let mut p=Packet::new(c.flow,c.node,self.dst,1500); p.kind=Kind::Datagram; c.send(p); self.n-=1; if self.n>0{c.set_timer(c.now+self.gap)} }
 fn report(&self)->FlowReport{FlowReport::default()}}
struct Win{w:u64,dst:NodeId} impl Endpoint for Win{
 fn on_start(&mut self,c:&mut EndpointCtx<'_>){for _ in 0..self.w{let mut p=Packet::new(c.flow,c.node,self.dst,1500); p.kind=Kind::Datagram; c.send(p);}}
 fn on_packet(&mut self,_:&Packet,c:&mut EndpointCtx<'_>){let mut p=Packet::new(c.flow,c.node,self.dst,1500); p.kind=Kind::Datagram; c.send(p);}
 fn on_timer(&mut self,_:&mut EndpointCtx<'_>){}
 fn report(&self)->FlowReport{FlowReport::default()}}
struct Sink{ack:bool} impl Endpoint for Sink{
 fn on_start(&mut self,_:&mut EndpointCtx<'_>){}
 fn on_packet(&mut self,p:&Packet,c:&mut EndpointCtx<'_>){ if self.ack { let mut a=Packet::new(c.flow,c.node,p.src,52); a.kind=Kind::Datagram; c.send(a);} }
 fn on_timer(&mut self,_:&mut EndpointCtx<'_>){}
 fn report(&self)->FlowReport{FlowReport::default()}}
struct F{dst:Vec<NodeId>,w:u64,gap:Time,n:u64} impl Flows for F{
 fn active(&self,f:FlowId)->Option<Box<dyn Endpoint>>{ let d=self.dst[f.0 as usize]; Some(if self.w>0{Box::new(Win{w:self.w,dst:d})}else{Box::new(Cbr{n:self.n,gap:self.gap,dst:d})})}
 fn passive(&self,_:FlowId)->Option<Box<dyn Endpoint>>{Some(Box::new(Sink{ack:self.w>0}))}}
struct R{t:Vec<Vec<Vec<u16>>>} impl Routes for R{ fn next_ports(&self,n:NodeId,d:NodeId)->&[u16]{&self.t[n.0 as usize][d.0 as usize]}}
fn net(n:usize,edges:&[(usize,usize,Rate,Time)],flows:&[(usize,usize)],f:F)->Network{
 let mut adj=vec![vec![];n]; let mut links=vec![]; let mut li:Vec<Vec<LinkInfo>>=vec![vec![];n];
 for &(a,b,r,d) in edges{ let (pa,pb)=(adj[a].len(),adj[b].len()); adj[a].push(b); adj[b].push(a);
  li[a].push(LinkInfo{rate:r,delay:d,mtu:1500,peer:NodeId(b as u32)}); li[b].push(LinkInfo{rate:r,delay:d,mtu:1500,peer:NodeId(a as u32)});
  for (x,px,y,py) in [(a,pa,b,pb),(b,pb,a,pa)]{ links.push(NetLink{from:(NodeId(x as u32),PortId(px as u16)),to:(NodeId(y as u32),PortId(py as u16)),delay:d,corruption:0.0,downs:vec![],delays:vec![]}); } }
 let mut t=vec![vec![vec![];n];n];
 for d in 0..n{ let mut dist=vec![usize::MAX;n]; dist[d]=0; let mut q=std::collections::VecDeque::from([d]); while let Some(x)=q.pop_front(){ for &y in &adj[x]{ if dist[y]==usize::MAX{dist[y]=dist[x]+1;q.push_back(y)}}}
  for x in 0..n{ if x!=d{ for (p,&y) in adj[x].iter().enumerate(){ if dist[y]<dist[x]{t[x][d].push(p as u16)} } } } }
 let r=Arc::new(R{t}); let f=Arc::new(f);
 let mut nodes:Vec<Node>=(0..n).map(|i|{ let ds=li[i].iter().map(|l|QueueSpec::DropTail{limit:Limit::Packets(5000)}.build(l.rate)).collect(); Node::new(NodeId(i as u32),li[i].clone(),ds,Forwarding::Shortest(ShortestPath::new(r.clone(),Ecmp::Flow)),f.clone(),stream(1,Purpose::Node,i as u64))}).collect();
 for (i,&(s,_)) in flows.iter().enumerate(){ nodes[s].start_flow(Time::from_us(i as u64*7),FlowId(i as u32)); }
 Network{nodes,links,events:vec![],seed:1}}
fn go(name:&str,net:Network,stop:Time,threads:usize){ let mut e=Engine::new(net,threads,|_|Box::new(Blind)); let t=std::time::Instant::now(); e.run(Some(stop),None,&mut|_|true); let s=t.elapsed().as_secs_f64(); let y=e.tally(); println!("{name:30} threads {} hops {:>10} {:.1} Mhop/s {:.1} ns/hop events {} mem {}",e.threads(),y.hops,y.hops as f64/s/1e6,s*1e9/y.hops as f64,y.events,e.memory()); }
fn main(){
 let g=Rate::from_gbps;
 for _ in 0..2{
 // chain: 8 routers
 let n=10; let edges:Vec<_>=(0..n-1).map(|i|(i,i+1,g(1),Time::from_ms(1))).collect();
 go("chain cbr",net(n,&edges,&[(0,n-1)],F{dst:vec![NodeId((n-1) as u32)],w:0,gap:Time::from_us(12),n:1<<40}),Time::from_secs(10),1);
 for pairs in [4,64,1024]{ let mut edges=vec![(0,1,g(1),Time::from_ms(8))]; let mut fl=vec![]; for i in 0..pairs{ edges.push((2+i,0,g(10),Time::from_ms(1))); edges.push((2+pairs+i,1,g(10),Time::from_ms(1))); fl.push((2+i,2+pairs+i)); }
  let dst=fl.iter().map(|f:&(usize,usize)|NodeId(f.1 as u32)).collect();
  for th in [1,2]{ go(&format!("dumbbell {pairs}"),net(2+2*pairs,&edges,&fl,F{dst:fl.iter().map(|f|NodeId(f.1 as u32)).collect(),w:(2000/pairs).max(2) as u64,gap:Time::ZERO,n:0}),Time::from_secs(5),th);} let _:&Vec<NodeId>=&dst; }
 for k in [4usize,8]{ let h=k/2; let hosts=k*h*h; let mut edges=vec![]; let es=|p:usize,i:usize|hosts+p*k+i; let ag=|p:usize,i:usize|hosts+p*k+h+i; let co=|i:usize|hosts+k*k+i; let us=Time::from_us(1);
  for p in 0..k{ for i in 0..h{ for j in 0..h{ edges.push((p*h*h+i*h+j,es(p,i),g(10),us)); edges.push((es(p,i),ag(p,j),g(10),us)); edges.push((ag(p,i),co(i*h+j),g(10),us)); } } }
  let fl:Vec<_>=(0..hosts).map(|i|(i,(i+h*h+1)%hosts)).collect();
  for th in [1,2]{ go(&format!("fat-tree {k}"),net(hosts+k*k+h*h,&edges,&fl,F{dst:fl.iter().map(|f|NodeId(f.1 as u32)).collect(),w:20,gap:Time::ZERO,n:0}),Time::from_ms(if k==4{60}else{10}),th);} }
 }
}
